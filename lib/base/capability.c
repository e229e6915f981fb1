// SPDX-License-Identifier: BSD-3-Clause
#include "capability.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

struct capabilities capabilities_get(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &head, has) < 0)
		return (struct capabilities){UINT64_MAX, UINT64_MAX};
	return (struct capabilities){has[0].permitted | (uint64_t)has[1].permitted << 32,
		has[0].effective | (uint64_t)has[1].effective << 32};
}

int capabilities_set(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];

	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		set[i] = (struct __user_cap_data_struct){
			.permitted = (uint32_t)(permitted >> 32 * i),
			.effective = (uint32_t)(effective >> 32 * i),
		};
	return syscall(SYS_capset, &head, set) < 0 ? -errno : 0;
}

int capabilities_drop(void)
{
	return capabilities_set(0, 0);
}

bool capabilities_lack_network(void)
{
	const uint64_t wanted = 1ull << CAP_NET_ADMIN | 1ull << CAP_NET_RAW;

	return (capabilities_get().effective & wanted) != wanted;
}
