// SPDX-License-Identifier: BSD-3-Clause
// What happens to a gateway of two workers over time: the input is a list of steps, each of them a
// frame, a packet that a peer has sealed, by ESP over IPv4 or IPv6 with numbers of 64 bits, time
// that goes by, or another configuration. What workers tell the control thread it does, as the
// daemon does: neighbours, duplicate addresses, listeners.
#include <netinet/in.h>

#include "dad.h"
#include "fuzz.h"
#include "fuzz_gateway.h"
#include "listener.h"
#include "packet_v6.h"
#include "site.h"

#define WORKERS 2

enum step {
	FRAME,  // LENGTH OCTETS...: a frame as it is
	PACKET, // LENGTH OCTETS...: an IP packet of either family, made right
	SEALED, // FORWARD LENGTH OCTETS...: inner packet, as made right; FORWARD: how far the
		// number jumps
	REPEAT, // the last frame again
	CUT,    // SIZE: the last frame in fragments
	TIME,   // HOW: passes
	RELOAD, // WHICH
	STEPS,
};

// Of the first octet of a step, above enum step.
enum { BY_WAN = 8, WORKER = 16, OVER_IPV6 = 32, INNER_IPV6 = 64, BLOCKED = 128 };

// Arguments: settings at top level, and policies, that differ.
static const char form[] =
	"flows = { max = 1024; }; %s\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\";\n"
	"    addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; mtu = 1400;\n"
	"    addresses = [ \"192.0.2.1/24\", \"2001:db8:f::1/64\" ]; } );\n"
	"routes = (\n"
	"  { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; },\n"
	"  { to = \"2001:db8:2::/64\"; via = \"2001:db8:f::2\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:02:01\"; } );\n"
	"sas = (\n"
	"  { name = \"out-6\"; direction = \"out\"; spi = \"0x1001\"; esn = true;\n"
	"    local = \"2001:db8:f::1\"; remote = \"2001:db8:f::2\"; cipher = \"aes-128-gcm\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a1\"; },\n"
	"  { name = \"in-6\"; direction = \"in\"; spi = \"0x1002\"; esn = true;\n"
	"    local = \"2001:db8:f::1\"; remote = \"2001:db8:f::2\"; cipher = \"aes-128-gcm\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a2\"; },\n"
	"  { name = \"out-4\"; direction = \"out\"; spi = \"0x1003\"; esn = true;\n"
	"    local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a3\"; },\n"
	"  { name = \"in-4\"; direction = \"in\"; spi = \"0x1004\"; esn = true;\n"
	"    local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a4\"; } );\n"
	"policies = (\n"
	"  { name = \"six\"; local = \"2001:db8:1::/64\"; remote = \"2001:db8:2::/64\";\n"
	"    action = \"protect\"; out = \"out-6\"; in = \"in-6\"; },\n"
	"  { name = \"four\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\";\n"
	"    action = \"protect\"; out = \"out-4\"; in = \"in-4\"; }%s );\n";

static const struct {
	const char *more, *policies;
} settings[] = {
	{"", ""},
	{"rules = ( { name = \"r\"; proto = \"tcp\"; action = \"reject\"; } );",
		", { name = \"more\"; local = \"10.1.0.0/24\";"
		" remote = \"198.51.100.0/24\"; action = \"bypass\"; }"},
};

static char texts[COUNT_OF(settings)][4096];
static struct gateway *g[WORKERS];
static struct conf *confs[COUNT_OF(texts)];
static struct listener *listener;
static struct peer peers[2]; // over IPv4, over IPv6
static uint64_t number[2] = {1, 1};
static struct frame last;

static void report(void *arg, uint16_t port, bool v1, enum mld_record record,
	const struct ip_addr group[], unsigned int n)
{
	(void)arg;
	(void)port;
	(void)v1;
	(void)record;
	(void)group;
	assert_in_range(n, 1, LISTENER_GROUPS_MAX);
}

static void stop(void)
{
	listener_free(listener);
	for (unsigned int i = 0; i < COUNT_OF(confs); i++)
		conf_free(confs[i]);
	for (unsigned int i = 0; i < 2; i++)
		peer_free(&peers[i]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct listener_params p = {.n_ports = 2, .report = report};
	struct worker *workers[WORKERS];
	struct ip_addr addr;

	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	for (unsigned int i = 0; i < COUNT_OF(texts); i++)
		snprintf(texts[i], sizeof(texts[i]), form, settings[i].more, settings[i].policies);
	for (unsigned int i = 0; i < WORKERS; i++) {
		g[i] = fuzz_gateway_add(gateway_new(i, texts[0]));
		workers[i] = g[i]->w;
	}
	for (unsigned int i = 0; i < WORKERS; i++)
		worker_peers_set(g[i]->w, workers, WORKERS);
	for (unsigned int i = 0; i < COUNT_OF(texts); i++)
		confs[i] = harness_conf(texts[i], strlen(texts[i]), stderr);
	peers[0] = peer_new(g[0], "in-4");
	peers[1] = peer_new(g[0], "in-6");
	listener = listener_new(&p);
	for (uint16_t port = 0; port < 2; port++) {
		assert_int_equal(
			ip_addr_parse(&addr, port == LAN ? "2001:db8:1::1" : "2001:db8:f::1"), 0);
		dad_add(harness_dad, port, &addr);
		assert_int_equal(ip_addr_parse(&addr, "ff02::1:ff00:1"), 0);
		listener_add(listener, port, &addr);
	}
	atexit(stop);
	return 0;
}

// What the control thread does about it, with the time in milliseconds.
static void control(const struct event *e, uint64_t now)
{
	const struct mld_query q = {.group = e->addr,
		.v1 = e->v1,
		.delay_ms = e->delay_ms,
		.interval_s = e->interval_s};
	const struct neigh_advert advert = {.mac = e->has_mac ? &e->mac : NULL,
		.solicited = e->solicited,
		.override = e->override};

	switch ((enum event_kind)e->kind) {
	case EVENT_NEIGH_NEEDED:
		return neigh_resolve(harness_neigh, e->port, &e->addr, now);
	case EVENT_NEIGH_HEARD:
		return neigh_learn(harness_neigh, e->port, &e->addr, &e->mac, e->for_us, now);
	case EVENT_ND_SOLICITED:
		return neigh_hear(harness_neigh, e->port, &e->addr, &e->mac, e->for_us, now);
	case EVENT_ND_ADVERTISED:
		return neigh_advertised(harness_neigh, e->port, &e->addr, advert, now);
	case EVENT_DAD_HEARD:
		return dad_heard(harness_dad, e->port, &e->addr, now);
	case EVENT_MLD_QUERY:
		return listener_query(listener, e->port, &q, now);
	default:
		return;
	}
}

static void pass(struct gateway *by, const struct frame f[], unsigned int n)
{
	struct rte_mbuf *m[FUZZ_PIECES_MAX];
	struct event e;

	for (unsigned int i = 0; i < n; i++)
		m[i] = frame_mbuf(&f[i]);
	gateway_pass_mbufs(by, m, n);
	for (unsigned int i = 0; i < WORKERS; i++)
		while (worker_event_take(g[i]->w, &e))
			control(&e, g[i]->now / (TSC_HZ / 1000));
}

// A millisecond, a second, a minute; or nothing is sent meanwhile.
static void time_passes(uint8_t how, bool blocked)
{
	static const uint64_t steps[] = {TSC_HZ / 1000, TSC_HZ, 60 * TSC_HZ, TSC_HZ / 10};

	for (unsigned int i = 0; i < WORKERS; i++) {
		g[i]->now += steps[how % COUNT_OF(steps)];
		if (blocked)
			gateway_pass_blocked(g[i], NULL, 0);
		pass(g[i], NULL, 0);
		if (blocked)
			gateway_take(g[i]);
	}
	neigh_tick(harness_neigh, g[0]->now / (TSC_HZ / 1000));
	dad_tick(harness_dad, g[0]->now / (TSC_HZ / 1000));
	listener_tick(listener, g[0]->now / (TSC_HZ / 1000));
}

static void make_right(uint8_t *ip, uint16_t len, bool v6)
{
	if (len < (v6 ? IP6_LEN : IP_LEN))
		return;
	ip[0] = (uint8_t)((ip[0] & 15) | (v6 ? 0x60 : 0x40));
	if (v6) {
		put16(ip + 4, len - IP6_LEN);
		return;
	}
	put16(ip + 2, len);
	if (len >= (ip[0] & 15) * 4)
		ip_checksum_mend(ip);
}

// The next number is a little ahead of the last, or behind, or in the next 2^32 of them.
static struct frame seal(bool over_v6, uint8_t forward, const uint8_t *packet, uint16_t len)
{
	uint64_t *seq = &number[over_v6];
	struct peer *p = &peers[over_v6];

	*seq += forward == 0xff ? UINT64_C(0xfffffff0) : (uint64_t)(int8_t)forward;
	p->upper = (uint32_t)(*seq >> 32);
	return peer_seal_packet(p, *seq, packet, len);
}

// Takes one step from the input; returns how many octets it has used.
static size_t take_step(const uint8_t *input, size_t len)
{
	static struct frame pieces[FUZZ_PIECES_MAX];
	uint8_t how = input[0], octet = len > 1 ? input[1] : 0, packet[1200];
	uint16_t n = (uint16_t)RTE_MIN((size_t)octet * 4, len > 3 ? len - 3 : 0);
	struct gateway *by = g[(how & WORKER) != 0];

	switch ((enum step)(how & 7)) {
	case FRAME:
	case PACKET:
		memcpy(packet, input + 3, n);
		if ((how & 7) == PACKET)
			make_right(packet, n, (how & INNER_IPV6) != 0);
		last = frame_raw((how & BY_WAN) != 0 ? WAN : LAN, packet, n);
		if ((how & 7) == PACKET && (how & INNER_IPV6) != 0)
			put16(last.b + 12, 0x86dd);
		pass(by, &last, 1);
		return 3u + n;
	case SEALED:
		memcpy(packet, input + 3, n);
		make_right(packet, n, (how & INNER_IPV6) != 0);
		last = seal((how & OVER_IPV6) != 0, input[len > 2 ? 2 : 0], packet, n);
		pass(by, &last, 1);
		return 3u + n;
	case REPEAT:
		pass(by, &last, 1);
		return 1;
	case CUT:
		pieces[0] = last;
		pass(by, pieces, frame_packet_len(&last) > IP6_LEN ? fuzz_cut(pieces, octet) : 1);
		return 2;
	case RELOAD:
		for (unsigned int i = 0; i < WORKERS; i++)
			gateway_reload(g[i], confs[octet % COUNT_OF(confs)]);
		return 2;
	default:
		time_passes(octet, (how & BLOCKED) != 0);
		return 2;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	last = frame_raw(LAN, (const uint8_t[IP_LEN]){0x45}, IP_LEN);
	while (len > 0) {
		size_t used = RTE_MIN(take_step(input, len), len);

		input += used;
		len -= used;
	}
	for (unsigned int i = 0; i < WORKERS; i++)
		fuzz_gateway_pass(g[i], NULL, 0);
	return 0;
}
