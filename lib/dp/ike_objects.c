// SPDX-License-Identifier: BSD-3-Clause
#include "ike_objects.h"

#include <stdlib.h>

struct ike_objects *ike_objects_new(unsigned int n_workers)
{
	struct ike_objects *ike = calloc(1, sizeof(*ike));

	if (ike == NULL)
		return NULL;
	ike->users = 1;
	ike->sad_in = sad_new(0);
	ike->sad_out = sad_new(0);
	ike->policies = spd_table_new(IKE_POLICIES_MAX);
	ike->listed = calloc(IKE_POLICIES_MAX, sizeof(ike->listed[0]));
	if (policy_set_init(&ike->set, IKE_POLICIES_MAX, n_workers) && ike->sad_in != NULL &&
		ike->sad_out != NULL && ike->policies != NULL && ike->listed != NULL)
		return ike;
	ike_objects_free(ike);
	return NULL;
}

struct ike_objects *ike_objects_share(struct ike_objects *ike)
{
	ike->users++;
	return ike;
}

void ike_objects_free(struct ike_objects *ike)
{
	if (ike == NULL || --ike->users > 0)
		return;
	sad_free(ike->sad_in);
	sad_free(ike->sad_out);
	spd_table_free(ike->policies);
	policy_set_fini(&ike->set);
	free(ike->listed);
	free(ike);
}
