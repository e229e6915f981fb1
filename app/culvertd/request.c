// SPDX-License-Identifier: BSD-3-Clause
#include "request.h"

#include "access.h"
#include "control_socket.h"
#include "load.h"
#include "member_changes.h"
#include "notify.h"
#include "orders.h"

static struct control_socket control = {.fd = -1};
static struct control_socket show = {.fd = -1};

static bool take(
	struct control_socket *from, struct control_request *request, request_wanted *wanted)
{
	if (!control_socket_take(from, request, wanted))
		return false;
	request->may_change = from->access->changes;
	request->from = from;
	return true;
}

static bool take_of_member(
	struct gateway *g, struct control_request *request, request_wanted *wanted)
{
	return wanted == NULL && member_changes_take(&g->control, request);
}

// Clients that may change something, and the other member of a pair, take turns; the others follow.
static bool io_take(
	void *gateway, struct control_request *request, bool readers, request_wanted *wanted)
{
	static bool members_turn;

	if (members_turn && take_of_member(gateway, request, wanted))
		members_turn = false;
	else if (take(&control, request, wanted))
		members_turn = true;
	else
		return take_of_member(gateway, request, wanted) ||
		       (readers && take(&show, request, wanted));
	return true;
}

static void io_answer(void *gateway, const struct control_request *request, const char *status,
	const char *text, uint64_t now_ms)
{
	struct gateway *g = gateway;

	if (member_has_asked(request))
		member_changes_answer(&g->control, status, text);
	else
		control_socket_answer(request->from, request, status, text, now_ms);
}

static bool io_subscribe(const struct control_request *request, const char *text)
{
	return control_socket_subscribe(request->from, request, text);
}

int request_start(struct gateway *g)
{
	static const struct request_io io = {io_take, io_answer, io_subscribe, load_begin,
		load_finish, load_sa_begin, notify_reloading, notify_ready, orders};
	static const struct control_access may_change = {"control", "control_group", true};
	static const struct control_access may_show = {"show", "show_group", false};
	const struct conf *conf = g->control.conf;
	struct access_groups groups;
	int rc = access_find(&groups, conf);

	if (rc == 0)
		rc = control_socket_open(&control, conf, &may_change, groups.control);
	requests_start(&g->control, g->control.conf_path, &io, g);
	if (rc == 0 && conf->show_group != NULL)
		rc = control_socket_open(&show, conf, &may_show, groups.show);
	return rc == 0 ? access_open(conf, &groups) : rc; // when all have their modes
}

bool request_tick(bool reload, uint64_t now_ms)
{
	bool served;

	control_socket_tick(&control, now_ms);
	control_socket_tick(&show, now_ms);
	served = requests_tick(reload, now_ms);
	return served || control_socket_is_busy(&control) || control_socket_is_busy(&show);
}

void request_sockets(struct pollfd fds[REQUEST_SOCKETS])
{
	fds[0] = (struct pollfd){.fd = control_socket_fd(&control), .events = POLLIN};
	fds[1] = (struct pollfd){.fd = control_socket_fd(&show), .events = POLLIN};
}

void request_stop(void)
{
	requests_stop();
	control_socket_close(&control);
	control_socket_close(&show);
}
