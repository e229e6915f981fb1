// SPDX-License-Identifier: BSD-3-Clause
#include "member_arrivals.h"

#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "line.h"
#include "log.h"

#define REQUEST_MAX (64 * 1024) // octets, as a client may send
#define WAITING_MAX (2 * MEMBER_AHEAD_MAX)

struct member_request *member_request_new(size_t len)
{
	struct member_request *r = calloc(1, sizeof(*r));
	char *text = calloc(1, len + 1);

	if (r == NULL || text == NULL) {
		free(r);
		free(text);
		return NULL;
	}
	r->text = text;
	r->len = len;
	return r;
}

void member_request_free(struct member_request *r)
{
	if (r == NULL)
		return;
	if (r->text != NULL) // else it was taken out
		explicit_bzero(r->text, r->len);
	free(r->text);
	free(r);
}

void member_requests_free(struct member_requests *all)
{
	struct member_request *r;

	while ((r = STAILQ_FIRST(all)) != NULL) {
		STAILQ_REMOVE_HEAD(all, next);
		member_request_free(r);
	}
}

void member_arrivals_init(struct member_arrivals *a)
{
	*a = (struct member_arrivals){0};
	STAILQ_INIT(&a->waiting);
}

void member_arrivals_fini(struct member_arrivals *a)
{
	member_requests_free(&a->waiting);
	member_request_free(a->arriving);
}

static void parts_forget(struct member_arrivals *a)
{
	member_request_free(a->arriving);
	a->arriving = NULL;
}

void member_arrivals_connected(struct member_arrivals *a)
{
	parts_forget(a);
	a->full = false;
}

void member_arrivals_process(struct member_arrivals *a, uint64_t process)
{
	parts_forget(a);
	a->process = process;
	a->received = 0;
}

// The other requests of clients, such as those for roles, are not for the channel.
static bool is_change(const char *text)
{
	static const char declared[] = "new-keys ", change[] = "change ";

	if (strncmp(text, declared, strlen(declared)) == 0)
		text += strlen(declared);
	return strncmp(text, change, strlen(change)) == 0;
}

static void arrive(struct member_arrivals *a)
{
	struct member_request *r = a->arriving;

	a->arriving = NULL;
	a->received = r->number;
	if (!is_change(r->text)) {
		member_request_free(r);
		return;
	}
	STAILQ_INSERT_TAIL(&a->waiting, r, next);
	a->n++;
}

// Only a member whose processes end again and again sends that many.
static bool no_room(struct member_arrivals *a)
{
	if (!a->full && a->n >= WAITING_MAX) {
		log_warn("too many changes of the other gateway of the pair wait: the others are "
			 "made when it is connected again");
		a->full = true;
	}
	return a->full;
}

static void begin(struct member_arrivals *a, uint64_t number, size_t len)
{
	parts_forget(a);
	a->arriving = member_request_new(len);
	a->arrived = 0;
	if (a->arriving == NULL)
		return;
	a->arriving->number = number;
	a->arriving->process = a->process;
}

// Parts follow in their order: others are a mistake.
bool member_arrivals_part(struct member_arrivals *a, const char *rest)
{
	uint64_t number, offset, len;
	int n;

	if (!line_number(&rest, &number, UINT64_MAX) || !line_number(&rest, &offset, REQUEST_MAX) ||
		!line_number(&rest, &len, REQUEST_MAX) || rest == NULL ||
		strspn(rest, "0123456789abcdef") != strlen(rest))
		return false;
	if (number <= a->received || a->process == 0 || no_room(a))
		return true;
	if (offset == 0)
		begin(a, number, len);
	if (a->arriving == NULL || number != a->arriving->number || len != a->arriving->len ||
		offset != a->arrived || strlen(rest) > 2 * (len - offset))
		return true;
	n = hex_parse((uint8_t *)a->arriving->text + offset, len - offset, rest);
	if (n <= 0)
		return true;
	a->arrived += (size_t)n;
	if (a->arrived == len)
		arrive(a);
	return true;
}

struct member_request *member_arrivals_take(struct member_arrivals *a)
{
	struct member_request *r = STAILQ_FIRST(&a->waiting);

	if (r != NULL) {
		STAILQ_REMOVE_HEAD(&a->waiting, next);
		a->n--;
	}
	return r;
}
