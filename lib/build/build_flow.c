// SPDX-License-Identifier: BSD-3-Clause
#include "build_flow.h"

struct flow_config build_flow_config(const struct conf *conf)
{
	const struct conf_timeouts *t = &conf->flow_timeouts;
	struct flow_config c;

	flow_config_init(&c);
	c.source_limit = conf->flows_per_source;
	c.strict = !conf->tcp_liberal;
	c.pick_up = conf->tcp_pickup;
	c.timeout_s[FLOW_TCP_SYN_SENT] = t->tcp_syn_sent;
	c.timeout_s[FLOW_TCP_SYN_RECV] = t->tcp_syn_recv;
	c.timeout_s[FLOW_TCP_PICKED_UP] = t->tcp_picked_up;
	c.timeout_s[FLOW_TCP_ESTABLISHED] = t->tcp_established;
	c.timeout_s[FLOW_TCP_FIN_WAIT] = t->tcp_fin_wait;
	c.timeout_s[FLOW_TCP_CLOSE_WAIT] = t->tcp_close_wait;
	c.timeout_s[FLOW_TCP_LAST_ACK] = t->tcp_last_ack;
	c.timeout_s[FLOW_TCP_TIME_WAIT] = t->tcp_time_wait;
	c.timeout_s[FLOW_TCP_CLOSE] = t->tcp_close;
	c.timeout_s[FLOW_UDP_NEW] = t->udp;
	c.timeout_s[FLOW_UDP_REPLIED] = t->udp;
	c.timeout_s[FLOW_UDP_STREAM] = t->udp_stream;
	c.timeout_s[FLOW_ICMP_NEW] = t->icmp;
	c.timeout_s[FLOW_ICMP_REPLIED] = t->icmp;
	c.timeout_s[FLOW_OTHER_NEW] = t->generic;
	c.timeout_s[FLOW_OTHER_REPLIED] = t->generic;
	return c;
}
