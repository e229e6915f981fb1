// SPDX-License-Identifier: BSD-3-Clause
// A gateway of two workers over time. The input is a list of steps, each of them a frame; a packet
// sealed by a peer over IPv4 or IPv6 with ESN, or by a peer behind a NAT that moves; an error about
// a sent packet; a period of time; a link that goes down; or another configuration. The control
// thread processes the events of the workers.
#include <netinet/in.h>

#include "control_thread.h"
#include "fuzz.h"
#include "fuzz_gateway.h"
#include "packet_v6.h"
#include "site.h"
#include "udp.h"

#define WORKERS 2
#define ROUTER  "192.0.2.254"
#define ROUTER6 "2001:db8:f::fe"

enum step {
	FRAME,    // LENGTH 0 OCTETS...: an unchanged frame
	PACKET,   // LENGTH 0 OCTETS...: an IP packet of either family, made valid
	SEALED,   // LENGTH FORWARD OCTETS...: inner packet, made valid; FORWARD: adds to number
	REPEAT,   // repeats the last frame
	FRAGMENT, // SIZE: fragments the last frame
	TIME,     // HOW: time advances
	RELOAD,   // WHICH: only the first of an input, since it takes as long as a thousand packets
	LINK,     // PORT: its link was down
	MOVE,     // WHERE: the peer behind a NAT moves
	TOO_BIG,  // MTU QUOTED: an error about the last packet sent by WAN
	REFLECT,  // receives the last frame that was sent
};

// Part of the first octet of a step, above enum step.
enum { BY_WAN = 16, BLOCKED = 16, IN_NAT = 16, WORKER = 32, OVER_IPV6 = 64, INNER_IPV6 = 128 };

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
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a4\"; },\n"
	"  { name = \"out-nat\"; direction = \"out\"; spi = \"0x1005\";\n"
	"    local = \"192.0.2.1\"; remote = \"any\"; udp = { keepalive = 5; follow = true; };\n"
	"    cipher = \"aes-128-gcm\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a5\"; },\n"
	"  { name = \"in-nat\"; direction = \"in\"; spi = \"0x1006\";\n"
	"    local = \"192.0.2.1\"; remote = \"any\"; udp = { }; cipher = \"aes-128-gcm\";\n"
	"    cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a6\"; } );\n"
	"policies = (\n"
	"  { name = \"six\"; local = \"2001:db8:1::/64\"; remote = \"2001:db8:2::/64\";\n"
	"    action = \"protect\"; out = \"out-6\"; in = \"in-6\"; },\n"
	"  { name = \"four\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\";\n"
	"    action = \"protect\"; out = \"out-4\"; in = \"in-4\"; },\n"
	"  { name = \"nat\"; local = \"10.1.0.0/24\"; remote = \"10.3.0.0/24\";\n"
	"    action = \"protect\"; out = \"out-nat\"; in = \"in-nat\"; }%s );\n";

static const struct {
	const char *more, *policies;
} settings[] = {
	{"", ""},
	{"rules = ( { name = \"r\"; proto = \"tcp\"; action = \"reject\"; } );",
		", { name = \"more\"; local = \"10.1.0.0/24\";"
		" remote = \"198.51.100.0/24\"; action = \"bypass\"; }"},
};

static struct gateway *g[WORKERS];
static struct conf *confs[COUNT_OF(settings)];
static struct peer peers[3]; // over IPv4, over IPv6, behind a NAT
static uint8_t where;        // address of the peer behind a NAT
static unsigned int in_use;  // of confs
static bool reloaded;        // by this input
static struct frame last, sent, last_sent_by_wan;

static void note_sent(const struct frame *f)
{
	sent = *f;
	if (f->port == WAN)
		last_sent_by_wan = *f;
}

static void control_sent(uint16_t port, const uint8_t *octets, uint16_t len)
{
	struct frame f = {.port = port, .len = len};

	memcpy(f.b, octets, len);
	note_sent(&f);
}

static void stop(void)
{
	control_thread_stop();
	for (unsigned int i = 0; i < COUNT_OF(confs); i++)
		conf_free(confs[i]);
	for (unsigned int i = 0; i < COUNT_OF(peers); i++)
		peer_free(&peers[i]);
}

static void confs_read(void)
{
	char text[8192];

	for (unsigned int i = 0; i < COUNT_OF(confs); i++) {
		snprintf(text, sizeof(text), form, settings[i].more, settings[i].policies);
		confs[i] = harness_conf(text, strlen(text), stderr);
		assert_non_null(confs[i]);
	}
}

static void gateways_start(void)
{
	static struct worker *workers[WORKERS];
	char text[8192];

	snprintf(text, sizeof(text), form, settings[0].more, settings[0].policies);
	g[0] = fuzz_gateway_add(gateway_new(0, text));
	g[1] = fuzz_gateway_add(gateway_second(g[0], 1));
	for (unsigned int i = 0; i < WORKERS; i++)
		workers[i] = g[i]->w;
	for (unsigned int i = 0; i < WORKERS; i++)
		worker_peers_set(g[i]->w, workers, WORKERS);
	control_thread_start(g[0]->snapshot, harness_neigh, workers, WORKERS);
	harness_solicit = control_thread_solicit;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	confs_read();
	dad_free(harness_dad);
	harness_dad =
		control_thread_init(&(struct control_thread){confs[0], harness_pool, control_sent});
	gateways_start();
	peers[0] = peer_new(g[0], "in-4");
	peers[1] = peer_new(g[0], "in-6");
	peers[2] = peer_new(g[0], "in-nat");
	last = sent = last_sent_by_wan = frame_raw(LAN, (const uint8_t[IP_LEN]){0x45}, IP_LEN);
	atexit(stop);
	return 0;
}

static void pass(struct gateway *by, const struct frame f[], unsigned int n)
{
	struct rte_mbuf *m[FUZZ_FRAGMENTS_MAX];
	struct event e;

	for (unsigned int i = 0; i < n; i++)
		m[i] = frame_mbuf(&f[i]);
	gateway_pass_mbufs(by, m, n);
	for (unsigned int i = 0; i < by->n_sent; i++)
		note_sent(&by->sent[i]);
	for (unsigned int i = 0; i < WORKERS; i++)
		while (worker_event_dequeue(g[i]->w, &e))
			control_thread_event(&e, g[i]->now / (TSC_HZ / 1000));
}

// A millisecond, a second, a minute; or time without transmission.
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
	control_thread_tick(g[0]->now / (TSC_HZ / 1000));
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
		ip_checksum_update(ip);
}

// From one of the peers. The number is a little above the last one accepted, or below, or with ESN
// nearly half of 2^32 above.
static struct frame seal(unsigned int by, uint8_t forward, const uint8_t *packet, uint16_t len)
{
	struct peer *p = &peers[by];
	const struct sa_in *sa = snapshot_find_in(g[0]->snapshot, rte_cpu_to_be_32(p->sa->opt.spi));
	struct frame f;
	uint64_t seq;

	if (sa == NULL) // gcc would not know from an assertion
		abort();
	seq = replay_top(&sa->sa.per_packet.replay);
	seq += forward == 0xff && p->sa->opt.esn ? UINT64_C(0x7fffff00) : (uint64_t)(int8_t)forward;
	p->upper = p->sa->opt.esn ? (uint32_t)(seq >> 32) : 0;
	f = peer_seal_packet(p, seq, packet, len);
	if (!p->sa->opt.in_udp)
		return f;
	put32(f.b + ETH_LEN + 12, ip_number("192.0.2.2") + (where & 3));
	return udp_insert(&f, (uint16_t)(NATT + where), NATT);
}

// From a router, about the last packet that was sent by WAN.
static struct frame too_big(uint16_t mtu, uint16_t quoted)
{
	const struct frame *about = &last_sent_by_wan;
	bool v6 = frame_packet(about)[0] >> 4 == 6;
	uint16_t head_len = v6 ? IP6_LEN : IP_LEN;
	struct frame f;
	uint8_t *icmp = f.b + ETH_LEN + head_len;

	quoted = (uint16_t)RTE_MIN(quoted, frame_packet_len(about));
	f = v6 ? frame_ip6(WAN,
			 (struct ipv6)FROM_TO(ROUTER6, "2001:db8:f::1", .proto = IPPROTO_ICMPV6,
				 .len = (uint16_t)(head_len + 8 + quoted)))
	       : frame_ip(WAN, (struct ipv4)FROM_TO(ROUTER, "192.0.2.1", .proto = IPPROTO_ICMP,
				       .len = (uint16_t)(head_len + 8 + quoted)));
	put32(icmp, v6 ? 2u << 24 : 3u << 24 | 4u << 16);
	put32(icmp + 4, mtu);
	memcpy(icmp + 8, frame_packet(about), quoted);
	put16(icmp + 2,
		v6 ? ip6_checksum(frame_packet(&f), head_len, frame_packet_len(&f), IPPROTO_ICMPV6)
		   : checksum(icmp, 8u + quoted));
	return f;
}

static void fragment_last(struct gateway *by, uint8_t step)
{
	static struct frame pieces[FUZZ_FRAGMENTS_MAX];

	pieces[0] = last;
	pass(by, pieces, frame_packet_len(&last) > IP6_LEN ? fuzz_fragment(pieces, step) : 1);
}

static void reload(unsigned int which)
{
	gateway_reload(g[0], confs[which]);
	control_thread_reloaded(confs[which], g[0]->snapshot);
	in_use = which;
}

// A step followed by octets of a packet.
static struct frame take_packet(uint8_t how, uint8_t forward, uint8_t *packet, uint16_t n)
{
	bool v6 = (how & INNER_IPV6) != 0;
	uint16_t port = (how & BY_WAN) != 0 ? WAN : LAN;
	struct frame f;

	switch ((enum step)(how & 15)) {
	case FRAME:
		f = (struct frame){.port = port, .len = n};
		memcpy(f.b, packet, n);
		return f;
	case PACKET:
		make_right(packet, n, v6);
		return (v6 ? frame_raw6 : frame_raw)(port, packet, n);
	default:
		make_right(packet, n, v6);
		return seal((how & IN_NAT) != 0 ? 2 : (how & OVER_IPV6) != 0, forward, packet, n);
	}
}

// Runs one step of the input; returns how many octets it has used.
static size_t take_step(const uint8_t *input, size_t len)
{
	uint8_t how = input[0], octet = len > 1 ? input[1] : 0, second = len > 2 ? input[2] : 0;
	uint8_t packet[1200];
	uint16_t n = (uint16_t)RTE_MIN((size_t)octet * 4, len > 3 ? len - 3 : 0);
	struct gateway *by = g[(how & WORKER) != 0];

	switch ((enum step)(how & 15)) {
	case FRAME:
	case PACKET:
	case SEALED:
		memcpy(packet, input + 3, n);
		last = take_packet(how, second, packet, n);
		break;
	case TOO_BIG:
		last = too_big((uint16_t)(octet * 6), second);
		break;
	case REFLECT:
		last = frame_carry(&sent);
		break;
	case REPEAT:
		break;
	case FRAGMENT:
		fragment_last(by, octet);
		return 2;
	case RELOAD:
		if (!reloaded)
			reload(octet % COUNT_OF(confs));
		reloaded = true;
		return 2;
	case LINK:
		control_thread_link_up(octet % 2);
		return 2;
	case MOVE:
		where = octet;
		return 2;
	default:
		time_passes(octet, (how & BLOCKED) != 0);
		return 2;
	}
	pass(by, &last, 1);
	return (how & 15) <= SEALED ? 3u + n : (how & 15) == TOO_BIG ? 3 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	last = frame_raw(LAN, (const uint8_t[IP_LEN]){0x45}, IP_LEN);
	reloaded = false;
	where = 0;
	while (len > 0) {
		size_t used = RTE_MIN(take_step(input, len), len);

		input += used;
		len -= used;
	}
	if (in_use != 0)
		reload(0);
	for (unsigned int i = 0; i < WORKERS; i++)
		fuzz_gateway_pass(g[i], NULL, 0);
	return 0;
}
