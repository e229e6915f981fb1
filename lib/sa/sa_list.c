// SPDX-License-Identifier: BSD-3-Clause
#include "sa_list.h"

#include <stdlib.h>
#include <string.h>

bool sa_list_reserve(struct sa_list *l, unsigned int n_in, unsigned int n_out)
{
	void *in = realloc(l->in, LIST_ROOM(n_in) * sizeof(l->in[0]));
	void *out = realloc(l->out, LIST_ROOM(n_out) * sizeof(l->out[0]));

	if (in != NULL)
		l->in = in;
	if (out != NULL)
		l->out = out;
	return in != NULL && out != NULL;
}

void sa_list_add(struct sa_list *l, struct sa *sa)
{
	if (sa->opt.direction == SA_OUT)
		l->out[l->n_out++] = sa_out_of(sa);
	else
		l->in[l->n_in++] = sa_in_of(sa);
}

void sa_list_add_configured(struct sa_list *l, struct sa *sa)
{
	unsigned int at = l->n_configured[sa->opt.direction]++;

	if (sa->opt.direction == SA_OUT) {
		memmove(&l->out[at + 1], &l->out[at], (l->n_out++ - at) * sizeof(l->out[0]));
		l->out[at] = sa_out_of(sa);
	} else {
		memmove(&l->in[at + 1], &l->in[at], (l->n_in++ - at) * sizeof(l->in[0]));
		l->in[at] = sa_in_of(sa);
	}
}

void sa_list_remove_configured(struct sa_list *l, const struct sa *sa)
{
	unsigned int at = 0;

	l->n_configured[sa->opt.direction]--;
	if (sa->opt.direction == SA_OUT) {
		while (&l->out[at]->sa != sa)
			at++;
		memmove(&l->out[at], &l->out[at + 1], (--l->n_out - at) * sizeof(l->out[0]));
	} else {
		while (&l->in[at]->sa != sa)
			at++;
		memmove(&l->in[at], &l->in[at + 1], (--l->n_in - at) * sizeof(l->in[0]));
	}
}

void sa_list_free(struct sa_list *l)
{
	free(l->in);
	free(l->out);
	*l = (struct sa_list){0};
}
