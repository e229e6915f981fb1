// SPDX-License-Identifier: BSD-3-Clause
#include "request_client.h"

const char *client_next;
bool client_may_change = true;
uid_t client_user = 5;
char client_status[16], client_text[8192];

bool client_take(void *arg, struct control_request *request, bool readers, request_wanted *wanted)
{
	assert_ptr_equal(arg, &desk);
	if (client_next == NULL || (!client_may_change && !readers) ||
		(wanted != NULL && !wanted(client_next)))
		return false;
	*request = (struct control_request){.text = strdup(client_next),
		.len = strlen(client_next),
		.uid = client_user,
		.pid = 6,
		.may_change = client_may_change,
		.from = &desk};
	client_next = NULL;
	return true;
}

void client_answer(void *arg, const struct control_request *request, const char *status,
	const char *text, uint64_t now_ms)
{
	(void)arg, (void)request, (void)now_ms;
	snprintf(client_status, sizeof(client_status), "%s", status);
	snprintf(client_text, sizeof(client_text), "%s", text);
}

int client_sa_begin(void *arg, struct sa *sa, bool new_keys)
{
	(void)arg, (void)sa, (void)new_keys;
	return 0;
}
