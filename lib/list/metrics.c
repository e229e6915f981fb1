// SPDX-License-Identifier: BSD-3-Clause
#include "metrics.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <microhttpd.h>

#include "group.h"
#include "log.h"
#include "metrics_listen.h"
#include "metrics_text.h"
#include "web_host.h"
#include "web_json.h"
#include "web_page.h"
#include "web_response.h"

#define CONNECTIONS  8u // of an endpoint, at once; each may hold the text of one answer
#define CONNECTION_S 3u // without an octet received or sent
#define RETRY_MS     5000u
#define WHY_SIZE     512u
#define STATUS_MS    1000u // clients get the same document for that time
#define FILTER_ARG   "filter"
#define FROM_ARG     "from"
#define HTML_TYPE    "text/html; charset=utf-8"
#define JSON_TYPE    "application/json"

// Written by the server's thread; fd is -1 if there is none.
struct connection {
	int fd;
	uint64_t number; // rises from connection to connection
	bool answered;   // or its answer is being sent
};

// A listening socket and its server. Written by the control thread while that does not run.
struct endpoint {
	struct metrics_address address;
	struct MHD_Daemon *server; // NULL: does not listen
	bool failed;               // the last attempt to listen, and that is logged
	struct connection connection[CONNECTIONS];
	uint64_t connections; // since the start
	struct MHD_Response
		*status;    // document of the page, or NULL; written by the server's thread
	uint64_t status_ms; // when it was made
};

#define ENDPOINTS 2u // TCP, and a Unix socket

static struct control *control;
static const struct view_list *lists;
static unsigned int n_lists;
static struct endpoint *endpoints[ENDPOINTS]; // NULL: not configured
static uint64_t retry_ms;
// Of the page, also while there is none; NULL until there is a page. Servers read both.
static struct web_history *history;
static atomic_bool has_page;

// Prepared for another configuration: an endpoint of its own, or that of the running one.
static struct {
	struct endpoint *endpoint[ENDPOINTS];
	bool page;
} wanted;

// Answers with text that the server frees, NULL if there was no memory for it.
static enum MHD_Result answer(struct MHD_Connection *c, const char *type, char *text, size_t len)
{
	if (text == NULL)
		return web_respond_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return web_respond(
		c, MHD_HTTP_OK, web_response_new(type, text, len, MHD_RESPMEM_MUST_FREE));
}

static struct connection *connection_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result metrics_answer(struct endpoint *e, struct MHD_Connection *c)
{
	size_t len;
	char *text = metrics_text_new(control, lists, n_lists, &len);

	(void)e;
	return answer(c, OPENMETRICS_TYPE, text, len);
}

// For load balancers: whether connections find an active group here.
static enum MHD_Result health_answer(struct endpoint *e, struct MHD_Connection *c)
{
	const char *state;

	(void)e;
	pthread_mutex_lock(&control->lock);
	state = groups_state(control);
	pthread_mutex_unlock(&control->lock);
	return web_respond_text(
		c, state == groups_ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, state);
}

// --- the page ---

static enum MHD_Result page_answer(struct endpoint *e, struct MHD_Connection *c)
{
	(void)e;
	return web_respond(c, MHD_HTTP_OK,
		web_response_new(HTML_TYPE, (char *)(uintptr_t)web_page, sizeof(web_page),
			MHD_RESPMEM_PERSISTENT));
}

static void status_forget(struct endpoint *e)
{
	if (e->status != NULL)
		MHD_destroy_response(e->status);
	e->status = NULL;
}

static void status_make(struct endpoint *e, uint64_t now_ms)
{
	size_t len;
	char *text = web_status_new(control, lists, n_lists, history, &len);

	if (text != NULL)
		e->status = web_response_new(JSON_TYPE, text, len, MHD_RESPMEM_MUST_FREE);
	e->status_ms = now_ms;
}

// However many clients there are, the gateway's lock is taken once in STATUS_MS.
static enum MHD_Result status_answer(struct endpoint *e, struct MHD_Connection *c)
{
	uint64_t now_ms = control->io->now_ms();

	if (now_ms - e->status_ms >= STATUS_MS)
		status_forget(e);
	if (e->status == NULL)
		status_make(e, now_ms);
	if (e->status == NULL)
		return web_respond_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return MHD_queue_response(c, MHD_HTTP_OK, e->status);
}

static const char *argument(struct MHD_Connection *c, const char *name)
{
	const char *value = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);

	return value != NULL ? value : "";
}

static enum MHD_Result tunnels_answer(struct endpoint *e, struct MHD_Connection *c)
{
	unsigned long from = strtoul(argument(c, FROM_ARG), NULL, 10);
	size_t len;
	char *text = web_tunnels_new(
		control, (uint32_t)RTE_MIN(from, UINT32_MAX / 2ul), argument(c, FILTER_ARG), &len);

	(void)e;
	return answer(c, JSON_TYPE, text, len);
}

static const struct resource {
	const char *url;
	bool of_page;
	enum MHD_Result (*answer)(struct endpoint *e, struct MHD_Connection *c);
} resources[] = {
	{"/metrics", false, metrics_answer},
	{"/health", false, health_answer},
	{"/", true, page_answer},
	{"/status.json", true, status_answer},
	{"/tunnels.json", true, tunnels_answer},
};

// Acquire: the history is there.
static bool page_is_on(void)
{
	return atomic_load_explicit(&has_page, memory_order_acquire);
}

static enum MHD_Result resource_answer(
	struct endpoint *e, struct MHD_Connection *c, const char *url)
{
	for (unsigned int i = 0; i < RTE_DIM(resources); i++)
		if (strcmp(url, resources[i].url) == 0 && (!resources[i].of_page || page_is_on()))
			return resources[i].answer(e, c);
	return web_respond_text(c, MHD_HTTP_NOT_FOUND, "not found\n");
}

// No browser reaches a Unix socket.
static bool is_for_this_host(const struct endpoint *e, struct MHD_Connection *c)
{
	char machine[HOST_NAME_MAX + 1] = "";

	gethostname(machine, sizeof(machine) - 1);
	return e->address.any.ss_family == AF_UNIX ||
	       web_host_is_own(
		       MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
		       machine);
}

// Called for the head of a request, for each part of its body and at its end; *state is the
// request's own.
static enum MHD_Result request(void *arg, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *body, size_t *body_len, void **state)
{
	static int head_seen;

	(void)version;
	(void)body;
	if (*state == NULL) {
		*state = &head_seen;
		return MHD_YES;
	}
	if (*body_len > 0) {
		*body_len = 0; // not wanted
		return MHD_YES;
	}
	connection_of(c)->answered = true;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return web_respond_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is supported\n");
	if (!is_for_this_host(arg, c))
		return web_respond_text(c, MHD_HTTP_MISDIRECTED_REQUEST,
			"Host must be an address, localhost or the name of this machine\n");
	return resource_answer(arg, c, url);
}

// Whether connection a is to be closed for a new one rather than b: it has not sent its request, or
// it is the older one.
static bool evict_before(const struct connection *a, const struct connection *b)
{
	return a->answered != b->answered ? b->answered : a->number < b->number;
}

// The next connection finds room, so clients that send no request cannot keep others out.
static void make_room(struct endpoint *e, const struct connection *newest)
{
	struct connection *evicted = NULL;

	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &e->connection[i];

		if (c->fd < 0)
			return;
		if (c != newest && (evicted == NULL || evict_before(c, evicted)))
			evicted = c;
	}
	shutdown(evicted->fd, SHUT_RDWR); // the server notices, and closes it
}

static void connection_begin(
	struct endpoint *e, struct MHD_Connection *mhd, struct connection **begun)
{
	struct connection *c = e->connection;

	while (c->fd >= 0) // the server has no more than CONNECTIONS
		c++;
	c->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	c->number = e->connections++;
	c->answered = false;
	*begun = c;
	make_room(e, c);
}

static void connection_event(void *arg, struct MHD_Connection *mhd, void **context,
	enum MHD_ConnectionNotificationCode code)
{
	struct connection **c = (struct connection **)context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		connection_begin(arg, mhd, c);
	else
		(*c)->fd = -1;
}

static struct MHD_Daemon *serve(struct endpoint *e, int fd)
{
	for (unsigned int i = 0; i < CONNECTIONS; i++)
		e->connection[i].fd = -1;
	return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ITC, 0,
		NULL, NULL, request, e, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_S,
		MHD_OPTION_NOTIFY_CONNECTION, connection_event, e, MHD_OPTION_END);
}

// Listens at the address of the endpoint and serves. False after writing the reason to why.
static bool endpoint_open(struct endpoint *e, const struct conf *conf, char *why, size_t size)
{
	int fd = metrics_listen(&e->address, conf, why, size);

	if (fd < 0)
		return false;
	e->server = serve(e, fd);
	if (e->server != NULL)
		return true;
	snprintf(why, size, "the HTTP server did not start");
	metrics_unlisten(&e->address);
	close(fd);
	return false;
}

// Tries to serve an endpoint of the running configuration.
static void endpoint_try(struct endpoint *e)
{
	char why[WHY_SIZE];
	const bool open = endpoint_open(e, control->conf, why, sizeof(why));

	if (open && e->failed)
		log_info("metrics: listening on %s", e->address.name);
	else if (!open && !e->failed)
		log_warn("metrics: cannot listen on %s: %s; retried every %u seconds",
			e->address.name, why, RETRY_MS / 1000);
	e->failed = !open;
}

// NULL is allowed.
static void endpoint_free(struct endpoint *e)
{
	if (e == NULL)
		return;
	if (e->server != NULL) {
		MHD_stop_daemon(e->server);
		metrics_unlisten(&e->address);
	}
	status_forget(e);
	free(e);
}

static const struct view_list *list_named(const char *name)
{
	const struct view_list *list = lists;

	while (strcmp(list->name, name) != 0)
		list++;
	return list;
}

void metrics_tick(uint64_t now_ms)
{
	if (history != NULL)
		web_history_tick(history, control, list_named("ports"), now_ms);
	if (now_ms < retry_ms)
		return;
	retry_ms = now_ms + RETRY_MS;
	for (unsigned int i = 0; i < ENDPOINTS; i++)
		if (endpoints[i] != NULL && endpoints[i]->server == NULL)
			endpoint_try(endpoints[i]);
}

// --- changes ---

static struct metrics_address address_of(const struct conf *conf, unsigned int i)
{
	return i == 0 ? metrics_address_tcp(conf) : metrics_address_unix(conf);
}

static bool has_address(const struct endpoint *e, const struct metrics_address *a)
{
	return e != NULL && e->address.len == a->len &&
	       memcmp(&e->address.any, &a->any, a->len) == 0;
}

// NULL: out of memory.
static struct endpoint *endpoint_new(const struct metrics_address *a)
{
	struct endpoint *e = calloc(1, sizeof(*e));

	if (e != NULL)
		e->address = *a;
	return e;
}

static int endpoint_prepare(unsigned int i, const struct conf *conf, bool back, FILE *errors)
{
	const struct metrics_address a = address_of(conf, i);
	char why[WHY_SIZE] = "out of memory";

	wanted.endpoint[i] = has_address(endpoints[i], &a) ? endpoints[i] : NULL;
	if (a.len == 0 || wanted.endpoint[i] != NULL)
		return 0;
	wanted.endpoint[i] = endpoint_new(&a);
	if (wanted.endpoint[i] != NULL &&
		(endpoint_open(wanted.endpoint[i], conf, why, sizeof(why)) || back))
		return 0;
	fprintf(errors, "metrics: cannot listen on %s: %s\n", a.name, why);
	return -1;
}

static int page_prepare(const struct conf *conf, FILE *errors)
{
	wanted.page = conf->metrics_page;
	if (wanted.page && history == NULL)
		history = calloc(1, sizeof(*history));
	if (!wanted.page || history != NULL)
		return 0;
	fputs("metrics: out of memory for the page\n", errors);
	return -1;
}

int metrics_prepare(const struct conf *conf, bool back, FILE *errors)
{
	int rc = page_prepare(conf, errors);

	for (unsigned int i = 0; i < ENDPOINTS; i++)
		if (endpoint_prepare(i, conf, back, errors) < 0)
			rc = -1;
	if (rc < 0)
		metrics_discard();
	return rc;
}

void metrics_discard(void)
{
	for (unsigned int i = 0; i < ENDPOINTS; i++)
		if (wanted.endpoint[i] != endpoints[i])
			endpoint_free(wanted.endpoint[i]);
}

// The socket stays if nothing but its mode changes.
static void mode_set(struct endpoint *e, const struct metrics_address *a)
{
	if (e == NULL || e->address.mode == a->mode)
		return;
	e->address.mode = a->mode;
	if (e->server != NULL && metrics_mode_set(a) < 0)
		log_warn("metrics: cannot change the mode of %s: %s", a->name, strerror(errno));
}

void metrics_commit(const struct conf *conf)
{
	for (unsigned int i = 0; i < ENDPOINTS; i++) {
		const struct metrics_address a = address_of(conf, i);

		if (wanted.endpoint[i] != endpoints[i])
			endpoint_free(endpoints[i]);
		endpoints[i] = wanted.endpoint[i];
		mode_set(endpoints[i], &a);
	}
	atomic_store_explicit(&has_page, wanted.page, memory_order_release);
}

// --- start and stop ---

void metrics_start(struct control *c, const struct view_list all[], unsigned int n)
{
	control = c;
	lists = all;
	n_lists = n;
	for (unsigned int i = 0; i < ENDPOINTS; i++) {
		const struct metrics_address a = address_of(c->conf, i);

		if (a.len > 0 && (endpoints[i] = endpoint_new(&a)) == NULL)
			log_warn("metrics: no memory for %s", a.name);
	}
	has_page = page_prepare(c->conf, log_failures()) == 0 && c->conf->metrics_page;
	metrics_tick(c->io->now_ms());
}

void metrics_stop(void)
{
	for (unsigned int i = 0; i < ENDPOINTS; i++) {
		endpoint_free(endpoints[i]);
		endpoints[i] = NULL;
	}
	free(history);
	history = NULL;
}
