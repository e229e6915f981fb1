// SPDX-License-Identifier: BSD-3-Clause
#include "pair_site.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/pem.h>

#include "pair_link.h"
#include "pem.h"
#include "test.h"

char *site_key[KEYS], *site_certificate[KEYS];

int site_make(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	for (unsigned int i = 0; i < KEYS; i++) {
		size_t len;
		FILE *key = open_memstream(&site_key[i], &len);
		FILE *certificate = open_memstream(&site_certificate[i], &len);
		bool ok = pem_make(key, certificate, "test");

		fclose(key);
		fclose(certificate);
		if (!ok)
			return -1;
	}
	return 0;
}

int site_remove(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < KEYS; i++) {
		free(site_key[i]);
		free(site_certificate[i]);
	}
	return 0;
}

static struct ip_addr parsed(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(&a, text), 0);
	return a;
}

static int bound(int type, const char *address, uint16_t port)
{
	struct ip_addr a = parsed(address);
	struct sockaddr_storage s;
	socklen_t len = link_address(&s, &a, port);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&s, len), 0);
	return fd;
}

uint16_t site_port(void)
{
	static uint16_t port;

	if (port == 0)
		port = (uint16_t)(20000 + getpid() % 10000);
	return ++port;
}

struct channel_params site_params(bool listens, uint16_t port)
{
	return (struct channel_params){
		.member = listens ? 1 : 2,
		.address = parsed(listens ? SITE_LISTENS : SITE_CONNECTS),
		.peer = parsed(listens ? SITE_CONNECTS : SITE_LISTENS),
		.port = port,
		.name = listens ? "gw-a" : "gw-b",
		.version = "0.1",
		.certificate = site_certificate[listens ? KEY_A : KEY_B],
		.key = site_key[listens ? KEY_A : KEY_B],
		.peer_certificate = site_certificate[listens ? KEY_B : KEY_A],
	};
}

struct channel *site_start(const struct channel_params *p)
{
	struct channel *ch;

	assert_int_equal(channel_new(&ch, p), 0);
	assert_int_equal(channel_start(ch, NULL, NULL), 0);
	return ch;
}

bool site_wait(bool (*is)(void *arg), void *arg)
{
	for (unsigned int i = 0; i < 2000; i++) {
		if (is(arg))
			return true;
		usleep(5000);
	}
	return false;
}

// --- clients ---

int site_connect(const char *from, uint16_t port)
{
	struct ip_addr to = parsed(SITE_LISTENS);
	struct sockaddr_storage s;
	socklen_t len = link_address(&s, &to, port);
	int fd = bound(SOCK_STREAM, from, 0);

	for (unsigned int i = 0; connect(fd, (struct sockaddr *)&s, len) < 0; i++) {
		assert_true(i < 1000); // it listens soon
		usleep(10000);
	}
	return fd;
}

static X509 *certificate_of(enum site_key key)
{
	BIO *bio = BIO_new_mem_buf(site_certificate[key], -1);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	return x;
}

static EVP_PKEY *key_of(enum site_key key)
{
	BIO *bio = BIO_new_mem_buf(site_key[key], -1);
	EVP_PKEY *k = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

	BIO_free(bio);
	return k;
}

bool site_client(struct site_client *c, enum site_key key, uint16_t port, int max_version)
{
	struct timeval limit = {.tv_sec = 10};
	X509 *x = certificate_of(key);
	EVP_PKEY *k = key_of(key);

	c->fd = site_connect(SITE_CONNECTS, port);
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	c->ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_max_proto_version(c->ctx, max_version);
	assert_int_equal(SSL_CTX_use_certificate(c->ctx, x), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(c->ctx, k), 1);
	X509_free(x);
	EVP_PKEY_free(k);
	c->ssl = SSL_new(c->ctx);
	SSL_set_fd(c->ssl, c->fd);
	return SSL_connect(c->ssl) == 1;
}

void site_client_send(struct site_client *c, const char *octets, size_t len)
{
	SSL_write(c->ssl, octets, (int)len);
}

bool site_client_read(struct site_client *c, const char *begin, char line[2 * LINE_LEN_MAX])
{
	size_t len = 0;

	while (len < 2 * LINE_LEN_MAX - 1 && SSL_read(c->ssl, line + len, 1) == 1) {
		if (line[len++] != '\n')
			continue;
		line[len - 1] = '\0';
		if (strncmp(line, begin, strlen(begin)) == 0)
			return true;
		len = 0;
	}
	return false;
}

void site_client_end(struct site_client *c)
{
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
	close(c->fd);
}

// --- the proxy ---

// One connection at a time: the next one replaces it.
static struct {
	pthread_t thread;
	uint16_t port;
	int listener, datagrams, connecting, listening; // of the sides
	atomic_bool cut_listening, cut_connecting, stop;
} proxy;

static void proxy_close(void)
{
	if (proxy.connecting >= 0)
		close(proxy.connecting);
	if (proxy.listening >= 0)
		close(proxy.listening);
	proxy.connecting = proxy.listening = -1;
}

static void proxy_accept(void)
{
	struct ip_addr to = parsed(SITE_LISTENS);
	struct sockaddr_storage s;
	socklen_t len = link_address(&s, &to, proxy.port);

	proxy_close();
	proxy.connecting = accept(proxy.listener, NULL, NULL);
	proxy.listening = bound(SOCK_STREAM, SITE_PROXY, 0);
	if (connect(proxy.listening, (struct sockaddr *)&s, len) < 0)
		proxy_close();
}

// Passes octets on. The end of one side is that of the other.
static void proxy_pass(int from, int to)
{
	char octets[4096];
	ssize_t n = recv(from, octets, sizeof(octets), 0);

	if (n <= 0 || send(to, octets, (size_t)n, MSG_NOSIGNAL) != n)
		proxy_close();
}

static void proxy_datagram(void)
{
	struct ip_addr a = parsed(SITE_LISTENS), b = parsed(SITE_CONNECTS);
	struct sockaddr_storage from, to;
	socklen_t len = sizeof(from);
	char octets[2048];
	ssize_t n = recvfrom(proxy.datagrams, octets, sizeof(octets), MSG_DONTWAIT,
		(struct sockaddr *)&from, &len);
	bool of_listening;

	if (n < 0)
		return;
	of_listening = link_address_is(&from, &a);
	if (of_listening ? proxy.cut_connecting : proxy.cut_listening)
		return;
	len = link_address(&to, of_listening ? &b : &a, proxy.port);
	sendto(proxy.datagrams, octets, (size_t)n, MSG_DONTWAIT, (struct sockaddr *)&to, len);
}

static void *proxy_run(void *arg)
{
	(void)arg;
	while (!proxy.stop) {
		struct pollfd fds[] = {{proxy.listener, POLLIN, 0}, {proxy.datagrams, POLLIN, 0},
			{proxy.cut_listening ? -1 : proxy.connecting, POLLIN, 0},
			{proxy.cut_connecting ? -1 : proxy.listening, POLLIN, 0}};

		poll(fds, COUNT_OF(fds), 20);
		if (fds[2].revents != 0)
			proxy_pass(proxy.connecting, proxy.listening);
		if (fds[3].revents != 0 && proxy.listening >= 0)
			proxy_pass(proxy.listening, proxy.connecting);
		if (fds[0].revents != 0)
			proxy_accept();
		if (fds[1].revents != 0)
			proxy_datagram();
	}
	return NULL;
}

void site_proxy_start(uint16_t port)
{
	proxy.port = port;
	proxy.connecting = proxy.listening = -1;
	proxy.stop = false;
	site_proxy_cut(false, false);
	proxy.listener = bound(SOCK_STREAM, SITE_PROXY, port);
	assert_int_equal(listen(proxy.listener, 5), 0);
	proxy.datagrams = bound(SOCK_DGRAM, SITE_PROXY, port);
	assert_int_equal(pthread_create(&proxy.thread, NULL, proxy_run, NULL), 0);
}

void site_proxy_cut(bool to_listening, bool to_connecting)
{
	proxy.cut_listening = to_listening;
	proxy.cut_connecting = to_connecting;
}

void site_proxy_stop(void)
{
	proxy.stop = true;
	pthread_join(proxy.thread, NULL);
	proxy_close();
	close(proxy.listener);
	close(proxy.datagrams);
}
