// SPDX-License-Identifier: BSD-3-Clause
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>

#define PAGE      4096u // of x86; larger ones are multiples: then madvise() refuses
#define PARTS_MAX 2048

struct part {
	uintptr_t start, end;
};

struct mapping {
	uintptr_t start, end;
	bool written; // by us, at some time
	bool shared;
	char path[2]; // its first characters
};

static struct part parts[PARTS_MAX];
static unsigned int n_parts;
static char text[PAGE];  // of /proc/self/maps
static ssize_t text_len; // 0 at its end, negative if it cannot be read
static int maps = -1;    // its name cannot be opened any more by who has become another user

bool core_keep(uintptr_t start, uintptr_t end)
{
	if (n_parts == PARTS_MAX)
		return false;
	parts[n_parts++] = (struct part){start, end};
	return true;
}

static uintptr_t page_of(uintptr_t at)
{
	return RTE_ALIGN_FLOOR(at, (uintptr_t)PAGE);
}

static uintptr_t page_behind(uintptr_t at)
{
	return RTE_ALIGN_CEIL(at, (uintptr_t)PAGE);
}

// Segments that are written to: variables, and memory that the loader has added after them.
static int keep_data(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && (h->p_flags & PF_W) != 0 &&
			!core_keep(page_of(start), page_behind(start + h->p_memsz)))
			return -ENOSPC;
	}
	return 0;
}

// The loader's list of programs and libraries, part of which is on the heap.
static int keep_list(void)
{
	for (const struct link_map *l = _r_debug.r_map; l != NULL; l = l->l_next) {
		uintptr_t name = (uintptr_t)l->l_name;

		if (!core_keep((uintptr_t)l, (uintptr_t)(l + 1)) ||
			!core_keep(name, name + strlen(l->l_name) + 1))
			return -ENOSPC;
	}
	return 0;
}

int core_start(void)
{
	int rc = dl_iterate_phdr(keep_data, NULL);

	if (rc == 0)
		rc = keep_list();
	if (rc != 0)
		return rc;
	maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	return maps < 0 ? -errno : 0;
}

// The next character, negative if there is none.
static int next(void)
{
	static ssize_t at;

	if (at == text_len) {
		text_len = read(maps, text, sizeof(text));
		at = 0;
	}
	return text_len > 0 ? text[at++] : -1;
}

// A number and the character that follows it.
static uintptr_t next_hex(int *follows)
{
	uintptr_t v = 0;
	int c;

	while ((c = next()) >= 0 && c != '-' && c != ' ')
		v = v << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	*follows = c;
	return v;
}

// A line is "START-END rwxp OFFSET DEVICE INODE   PATH". Returns false at the end.
static bool mapping_next(struct mapping *m)
{
	int c;

	*m = (struct mapping){.start = next_hex(&c)};
	m->end = next_hex(&c);
	next();
	m->written = next() == 'w';
	next();
	m->shared = next() == 's';
	while ((c = next()) >= 0 && c != '\n') {
		if (m->path[0] != 0 && m->path[1] == 0)
			m->path[1] = (char)c;
		else if (m->path[0] == 0 && (c == '/' || c == '['))
			m->path[0] = (char)c;
	}
	return c == '\n';
}

// Code and data of programs as in their files, and the part that the kernel puts into every process
// ([vdso]).
static bool is_harmless(const struct mapping *m)
{
	return !m->written && !m->shared &&
	       (m->path[0] == '/' || (m->path[0] == '[' && m->path[1] == 'v'));
}

static bool advise(uintptr_t start, uintptr_t end, int advice)
{
	return madvise((void *)start, end - start, advice) == 0; // NOLINT
}

// Wipes memory that is not to be kept, and writes nothing else: the caller's frames may be there.
static void page_clean(uintptr_t page)
{
	static bool kept[PAGE];

	memset(kept, false, sizeof(kept));
	for (unsigned int i = 0; i < n_parts; i++) {
		uintptr_t start = RTE_MAX(parts[i].start, page);
		uintptr_t end = RTE_MIN(parts[i].end, page + PAGE);

		if (start < end)
			memset(kept + (start - page), true, end - start);
	}
	for (unsigned int i = 0; i < PAGE; i++)
		if (!kept[i])
			*(volatile char *)(page + i) = 0;
}

static bool part_include(const struct part *p, const struct mapping *m)
{
	uintptr_t start = RTE_MAX(p->start, m->start), end = RTE_MIN(p->end, m->end);

	if (start >= end)
		return true;
	if (start != page_of(start))
		page_clean(page_of(start));
	if (end != page_behind(end))
		page_clean(page_of(end));
	return advise(page_of(start), page_behind(end), MADV_DODUMP);
}

bool core_strip(void)
{
	struct mapping m;
	bool ok = true;

	while (ok && mapping_next(&m)) {
		if (is_harmless(&m))
			continue;
		ok = advise(m.start, m.end, MADV_DONTDUMP);
		for (unsigned int i = 0; ok && m.written && !m.shared && i < n_parts; i++)
			ok = part_include(&parts[i], &m);
	}
	return ok && text_len == 0;
}
