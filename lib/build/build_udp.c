// SPDX-License-Identifier: BSD-3-Clause
#include "build_udp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int build_udp(struct snapshot *s, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_sas; i++) {
		const struct conf_sa *c = &conf->sas[i];

		if (!c->opt.in_udp || c->opt.direction != SA_IN)
			continue;
		if (s->udp_ports == NULL) {
			s->udp_ports = calloc((UINT16_MAX + 1) / 8, 1);
			s->udp_ends = calloc(conf->n_sas, sizeof(s->udp_ends[0]));
		}
		if (s->udp_ports == NULL || s->udp_ends == NULL)
			return -ENOMEM;
		s->udp_ports[c->opt.udp_local_port / 8] |=
			(uint8_t)(1u << c->opt.udp_local_port % 8);
		s->udp_ends[s->n_udp_ends++] = c->opt.local;
	}
	if (s->n_udp_ends > 0)
		qsort(s->udp_ends, s->n_udp_ends, sizeof(s->udp_ends[0]), snapshot_compare_ends);
	return 0;
}
