// SPDX-License-Identifier: BSD-3-Clause
#include "etcd.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "etcd_answer.h"

#define CONNECT_MS 500L
#define ANSWER_MS  1500L // with the connection

static const char *const paths[] = {
	[ETCD_TXN] = "/v3/kv/txn",
	[ETCD_LEASE_GRANT] = "/v3/lease/grant",
	[ETCD_LEASE_KEEPALIVE] = "/v3/lease/keepalive",
	[ETCD_LEASE_REVOKE] = "/v3/lease/revoke",
};

enum phase { IDLE, ASKED, ANSWERED };

struct etcd {
	// Constant. Own copies: a configuration can be freed while the thread runs.
	char *endpoints[ETCD_ENDPOINTS_MAX];
	unsigned int n_endpoints;
	char *ca, *certificate, *key;
	CURL *curl; // of the thread
	struct curl_slist *headers;
	char curl_error[CURL_ERROR_SIZE];
	pthread_t thread;
	bool runs;
	int (*confine)(void *arg);
	void *confine_arg;
	atomic_bool stop;

	// Of the thread.
	unsigned int endpoint; // that has answered last
	char *received;
	size_t len;

	// With the lock, from here on.
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool ready;
	int confined; // result of confine(), once it is ready
	enum phase phase;
	enum etcd_call call;
	char *body, *text; // of the request; its answer
	char error[ETCD_ERROR_MAX];
};

static size_t receive(char *octets, size_t size, size_t n, void *etcd)
{
	struct etcd *e = etcd;
	size_t more = size * n;
	char *grown;

	if (more > ETCD_TEXT_MAX - e->len)
		return 0;
	grown = realloc(e->received, e->len + more + 1);
	if (grown == NULL)
		return 0;
	memcpy(grown + e->len, octets, more);
	e->received = grown;
	e->len += more;
	grown[e->len] = '\0';
	return more;
}

static int must_stop(
	void *etcd, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now)
{
	struct etcd *e = etcd;

	(void)total, (void)now, (void)up_total, (void)up_now;
	return atomic_load_explicit(&e->stop, memory_order_acquire);
}

static void blob_set(CURL *curl, CURLoption option, const char *pem)
{
	struct curl_blob blob = {.data = (void *)(uintptr_t)pem, .flags = CURL_BLOB_NOCOPY};

	if (pem == NULL)
		return;
	blob.len = strlen(pem);
	curl_easy_setopt(curl, option, &blob);
}

// Nothing but the authority of the configuration is trusted, and no proxy of the environment used.
static void options_set(struct etcd *e)
{
	curl_easy_setopt(e->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(e->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(e->curl, CURLOPT_TIMEOUT_MS, ANSWER_MS);
	curl_easy_setopt(e->curl, CURLOPT_ERRORBUFFER, e->curl_error);
	curl_easy_setopt(e->curl, CURLOPT_HTTPHEADER, e->headers);
	curl_easy_setopt(e->curl, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(e->curl, CURLOPT_WRITEDATA, e);
	curl_easy_setopt(e->curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(e->curl, CURLOPT_XFERINFOFUNCTION, must_stop);
	curl_easy_setopt(e->curl, CURLOPT_XFERINFODATA, e);
	curl_easy_setopt(e->curl, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(e->curl, CURLOPT_CAPATH, NULL);
	blob_set(e->curl, CURLOPT_CAINFO_BLOB, e->ca);
	blob_set(e->curl, CURLOPT_SSLCERT_BLOB, e->certificate);
	blob_set(e->curl, CURLOPT_SSLKEY_BLOB, e->key);
}

// Copies a text, which may be NULL. False: there is no memory.
static bool copy(char **to, const char *text)
{
	*to = text != NULL ? strdup(text) : NULL;
	return *to != NULL || text == NULL;
}

static bool params_copy(struct etcd *e, const struct etcd_params *p)
{
	bool good = copy(&e->ca, p->ca) && copy(&e->certificate, p->certificate) &&
		    copy(&e->key, p->key);

	for (unsigned int i = 0; i < p->n_endpoints && good; i++)
		good = copy(&e->endpoints[e->n_endpoints++], p->endpoints[i]);
	return good;
}

static void params_free(struct etcd *e)
{
	if (e->key != NULL)
		explicit_bzero(e->key, strlen(e->key));
	free(e->ca);
	free(e->certificate);
	free(e->key);
	for (unsigned int i = 0; i < e->n_endpoints; i++)
		free(e->endpoints[i]);
}

struct etcd *etcd_new(const struct etcd_params *p)
{
	struct etcd *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	e->curl = curl_easy_init();
	e->headers = curl_slist_append(NULL, "Content-Type: application/json");
	if (e->curl == NULL || e->headers == NULL || !params_copy(e, p)) {
		etcd_free(e);
		errno = ENOMEM;
		return NULL;
	}
	options_set(e);
	return e;
}

static void error_set(struct etcd *e, const char *endpoint, const char *why)
{
	snprintf(e->error, sizeof(e->error), "%.55s: %.70s", endpoint, why);
	for (char *c = e->error; *c != '\0'; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
}

// Asks an endpoint. True: received has its answer.
static bool endpoint_ask(struct etcd *e, const char *endpoint)
{
	char url[256], why[ETCD_ERROR_MAX];
	long status = 0;
	CURLcode rc;

	e->len = 0;
	e->curl_error[0] = '\0';
	snprintf(url, sizeof(url), "%s%s", endpoint, paths[e->call]);
	curl_easy_setopt(e->curl, CURLOPT_URL, url);
	curl_easy_setopt(e->curl, CURLOPT_POSTFIELDS, e->body);
	rc = curl_easy_perform(e->curl);
	curl_easy_getinfo(e->curl, CURLINFO_RESPONSE_CODE, &status);
	if (rc == CURLE_OK && status == 200 && e->len > 0)
		return true;
	if (rc == CURLE_OK && etcd_refusal_read(e->len > 0 ? e->received : "", why, sizeof(why)))
		error_set(e, endpoint, why);
	else if (rc == CURLE_OK)
		error_set(e, endpoint, "the answer is none of etcd");
	else
		error_set(e, endpoint,
			e->curl_error[0] != '\0' ? e->curl_error : curl_easy_strerror(rc));
	return false;
}

// A transaction that two endpoints get has an effect once, by the revisions that it compares.
static bool endpoints_ask(struct etcd *e)
{
	const unsigned int n = e->n_endpoints, first = e->endpoint;

	for (unsigned int i = 0; i < n && !must_stop(e, 0, 0, 0, 0); i++) {
		e->endpoint = (first + i) % n;
		if (endpoint_ask(e, e->endpoints[e->endpoint]))
			return true;
	}
	return false;
}

static void serve(struct etcd *e)
{
	bool answered = endpoints_ask(e);

	pthread_mutex_lock(&e->lock);
	e->text = answered ? e->received : NULL;
	if (answered)
		e->received = NULL;
	e->phase = ANSWERED;
	pthread_mutex_unlock(&e->lock);
}

// False: the thread is to end.
static bool wait_for_work(struct etcd *e)
{
	bool stop;

	pthread_mutex_lock(&e->lock);
	while (e->phase != ASKED && !atomic_load_explicit(&e->stop, memory_order_acquire))
		pthread_cond_wait(&e->changed, &e->lock);
	stop = atomic_load_explicit(&e->stop, memory_order_acquire);
	pthread_mutex_unlock(&e->lock);
	return !stop;
}

static void *run(void *etcd)
{
	struct etcd *e = etcd;
	sigset_t pipe;

	sigemptyset(&pipe); // the socket of a connection that the other end has closed
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	pthread_mutex_lock(&e->lock);
	e->confined = e->confine != NULL ? e->confine(e->confine_arg) : 0;
	e->ready = true;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	while (e->confined == 0 && wait_for_work(e))
		serve(e);
	return NULL;
}

int etcd_start(struct etcd *e, int (*confine)(void *arg), void *arg)
{
	int rc;

	e->confine = confine;
	e->confine_arg = arg;
	rc = -pthread_create(&e->thread, NULL, run, e);
	if (rc < 0)
		return rc;
	e->runs = true;
	pthread_setname_np(e->thread, "culvert-etcd");
	pthread_mutex_lock(&e->lock);
	while (!e->ready)
		pthread_cond_wait(&e->changed, &e->lock);
	rc = e->confined;
	pthread_mutex_unlock(&e->lock);
	return rc;
}

static void thread_end(struct etcd *e)
{
	pthread_mutex_lock(&e->lock);
	atomic_store_explicit(&e->stop, true, memory_order_release);
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
	pthread_join(e->thread, NULL);
}

void etcd_free(struct etcd *e)
{
	if (e == NULL)
		return;
	if (e->runs)
		thread_end(e);
	curl_easy_cleanup(e->curl);
	curl_slist_free_all(e->headers);
	curl_global_cleanup();
	params_free(e);
	free(e->received);
	free(e->body);
	free(e->text);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void etcd_ask(struct etcd *e, enum etcd_call call, char *body)
{
	pthread_mutex_lock(&e->lock);
	e->call = call;
	e->body = body;
	e->phase = ASKED;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

bool etcd_take(struct etcd *e, char **text, char error[ETCD_ERROR_MAX])
{
	bool answered;

	pthread_mutex_lock(&e->lock);
	answered = e->phase == ANSWERED;
	if (answered) {
		*text = e->text;
		if (e->text == NULL)
			memcpy(error, e->error, sizeof(e->error));
		free(e->body);
		e->body = e->text = NULL;
		e->phase = IDLE;
	}
	pthread_mutex_unlock(&e->lock);
	return answered;
}
