// SPDX-License-Identifier: BSD-3-Clause
#include "ike_gates.h"

#include <netinet/in.h>

#include "dad.h"
#include "ike.h"
#include "ike_tables.h"
#include "sa_table.h"
#include "retire.h"

#define LAN_MAC "02:00:00:00:02:00" // of the ports' neighbours
#define WAN_MAC "02:00:00:00:02:01"

const struct ipv4 ike_there = {.src = "10.1.0.5", .dst = "10.2.0.5", .dport = 53};
const struct ipv4 ike_back = {.src = "10.2.0.5", .dst = "10.1.0.5", .sport = 53};

static struct rte_rcu_qsbr *qsbr; // no reader
struct daemon ike_a, ike_b;

// --- daemons and their requests ---

static struct gateway *gateway(
	unsigned int id, const char *net, const char *own, const char *peer, const char *other)
{
	char text[4096];

	snprintf(text, sizeof(text),
		"flows = { max = 4096; };\n"
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"%s.1/24\" ]; "
		"},\n"
		"  { name = \"wan\"; device = \"net_null1\"; side = \"unprotected\";\n"
		"    addresses = [ \"%s/24\" ]; } );\n"
		"routes = ( { to = \"%s.0/24\"; via = \"%s\"; } );\n"
		"neighbours = ( { address = \"%s.5\"; mac = \"%s\"; },\n"
		"  { address = \"%s\"; mac = \"%s\"; } );\n"
		"ike = { via = [ \"%s.9\" ]; before = \"rest\"; };\n"
		"policies = ( { name = \"first\"; proto = \"udp\"; remote_port = \"9\";\n"
		"    action = \"bypass\"; },\n"
		"  { name = \"rest\"; action = \"discard\"; } );\n",
		net, own, other, peer, net, LAN_MAC, peer, WAN_MAC, net);
	return gateway_new(id, text);
}

static void daemon_start(struct daemon *d, struct gateway *g)
{
	*d = (struct daemon){.g = g,
		.c = {.lock = PTHREAD_MUTEX_INITIALIZER,
			.qsbr = qsbr,
			.conf = g->conf,
			.dad = harness_dad,
			.snapshot = g->snapshot}};
}

static void daemon_stop(struct daemon *d)
{
	gateway_publish(d->g, d->c.snapshot);
	ike_stop(&d->c);
	gateway_publish(d->g, d->c.snapshot);
	gateway_free(d->g);
}

int ike_gate_begin(void **state)
{
	size_t size = RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE);
	int rc = harness_test_begin(state);

	qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE, size);
	rte_rcu_qsbr_init(qsbr, 1);
	daemon_start(&ike_a, gateway(0, "10.1.0", "192.0.2.1", "192.0.2.2", "10.2.0"));
	daemon_start(&ike_b, gateway(1, "10.2.0", "192.0.2.2", "192.0.2.1", "10.1.0"));
	return rc;
}

int ike_gate_end(void **state)
{
	daemon_stop(&ike_a);
	daemon_stop(&ike_b);
	free(qsbr);
	return harness_test_end(state);
}

void ike_gate_tick(struct daemon *d)
{
	retire_tick(&d->c);
	objects_commit(&d->c);
}

// Objects that workers may use are freed a pass later; here there is none meanwhile.
void ike_gate_settle(struct daemon *d)
{
	for (unsigned int i = 0; i < 3; i++)
		ike_gate_tick(d);
	gateway_publish(d->g, d->c.snapshot);
}

void ike_gate_ask(struct daemon *d, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	assert_true(ike_request(&d->c, "ike", text, strlen(text), stderr));
	ike_gate_settle(d);
}

#define SA                                                                                         \
	"sa add { name = \"ike.%s.%x\"; direction = \"%s\"; spi = \"0x%x\"; reqid = %u; "          \
	"cipher = \"aes-128-gcm\"; "                                                               \
	"cipher_key = \"%08x101112131415161718191a1b1c1d1e1f\"; local = \"%s\"; remote = \"%s\"; " \
	"%s }\n"

void ike_gate_sa_ask(char *text, size_t size, const char *direction, uint32_t spi, uint32_t reqid)
{
	snprintf(text, size, SA, direction, spi, direction, spi, reqid, spi, "192.0.2.1",
		"192.0.2.2", "");
}

void ike_gate_sa_with(
	struct daemon *d, const char *direction, uint32_t spi, uint32_t reqid, const char *more)
{
	ike_gate_ask(d, SA, direction, spi, direction, spi, reqid, spi,
		d == &ike_a ? "192.0.2.1" : "192.0.2.2", d == &ike_a ? "192.0.2.2" : "192.0.2.1",
		more);
}

void ike_gate_sa(struct daemon *d, const char *direction, uint32_t spi, uint32_t reqid)
{
	ike_gate_sa_with(d, direction, spi, reqid, "");
}

// A pair of SAs, with the SPIs spi and spi + 1.
void ike_gate_sas(uint32_t reqid, uint32_t spi)
{
	ike_gate_sa(&ike_b, "in", spi, reqid);
	ike_gate_sa(&ike_a, "in", spi + 1, reqid);
	ike_gate_sa(&ike_a, "out", spi, reqid);
	ike_gate_sa(&ike_b, "out", spi + 1, reqid);
}

void ike_gate_sas_delete(uint32_t spi)
{
	ike_gate_ask(&ike_a, "sa del ike.out.%x\nsa del ike.in.%x\n", spi, spi + 1);
	ike_gate_ask(&ike_b, "sa del ike.out.%x\nsa del ike.in.%x\n", spi + 1, spi);
}

void ike_gate_policy(struct daemon *d, const char *name, uint32_t reqid, const char *more)
{
	ike_gate_ask(d,
		"policy add { name = \"ike.%s\"; local = \"%s\"; remote = \"%s\"; "
		"action = \"protect\"; reqid = %u; %s }",
		name, d == &ike_a ? "10.1.0.0/24" : "10.2.0.0/24",
		d == &ike_a ? "10.2.0.0/24" : "10.1.0.0/24", reqid, more);
}

void ike_gate_tunnel(const char *name, uint32_t reqid, uint32_t spi, const char *more)
{
	ike_gate_policy(&ike_a, name, reqid, more);
	ike_gate_policy(&ike_b, name, reqid, more);
	ike_gate_sas(reqid, spi);
}

// The peer of an inbound SA of A; read again, for its keys.
struct peer ike_gate_peer(uint32_t spi, uint32_t reqid, struct conf_ike **ike)
{
	char text[1024];
	struct crypto_key key;
	const struct conf_sa *sa;

	snprintf(text, sizeof(text), SA, "in", spi, "in", spi, reqid, spi, "192.0.2.1", "192.0.2.2",
		"");
	*ike = conf_ike_read(ike_a.c.conf, "ike", text, strlen(text), stderr);
	assert_non_null(*ike);
	sa = &(*ike)->conf->sas[0];
	key = (struct crypto_key){
		sa->opt.cipher, sa->opt.auth, sa->cipher_key, sa->auth_key, sa->opt.esn, 0};
	return (struct peer){crypto_session_new(&key, CRYPTO_SEAL, "openssl", 1), sa, 0};
}

// --- traffic ---

static uint32_t spi_of(const struct frame *f)
{
	assert_int_equal(frame_packet(f)[9], IPPROTO_ESP);
	return be32(frame_packet(f) + IP_LEN);
}

// The packet comes through the tunnel, by the SA.
void ike_gate_through(struct daemon *from, struct ipv4 ip, uint32_t spi)
{
	struct daemon *to = from == &ike_a ? &ike_b : &ike_a;
	struct frame in = frame_ip(LAN, ip);
	struct frame esp = frame_carry(gateway_expect_sent(from->g, &in, WAN));

	assert_int_equal(spi_of(&from->g->sent[0]), spi);
	expect_arrived(gateway_expect_sent(to->g, &esp, LAN), &in);
}

void ike_gate_dropped(struct daemon *from, struct ipv4 ip, enum drop reason)
{
	struct frame in = frame_ip(LAN, ip);

	gateway_expect_drop(from->g, &in, reason);
	for (unsigned int i = 0; i < from->g->n_sent; i++) // errors to the sender
		assert_int_equal(from->g->sent[i].port, LAN);
}
