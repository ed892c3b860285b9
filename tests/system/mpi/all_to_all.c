/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The communication of NAS IS, a sort of integers: each process makes its part of the keys and
 * sends every other those of its range (MPI_Alltoall of the numbers, MPI_Alltoallv of the keys).
 * Which keys it must get each process finds out by itself, by making the keys of all: a key that is
 * lost, doubled or changed on the way is seen.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PER_PROCESS (1u << 19)
#define KEYS (1u << 16) /* from 0 on */
#define ROUNDS 4
#define MOST 64         /* processes */

/* The n-th of all keys: Steele, Lea and Flood's SplitMix64. */
static uint32_t key(uint64_t n)
{
	uint64_t z = (n + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (uint32_t)(z >> 32) % KEYS;
}

static int owner(uint32_t k, int processes)
{
	return (int)((uint64_t)k * (unsigned)processes / KEYS);
}

/*
 * This process' part of a round, ordered by the process that it goes to; how many to each, and from
 * where.
 */
static void make_keys(uint64_t first, uint32_t *sorted, int *count, int *from, int processes)
{
	int next[MOST];

	for (int p = 0; p < processes; p++)
		count[p] = 0;
	for (uint32_t i = 0; i < PER_PROCESS; i++)
		count[owner(key(first + i), processes)]++;
	for (int p = 0, at = 0; p < processes; at += count[p++])
		next[p] = from[p] = at;
	for (uint32_t i = 0; i < PER_PROCESS; i++) {
		uint32_t k = key(first + i);

		sorted[next[owner(k, processes)]++] = k;
	}
}

/* How many of the keys that came are too many or too few. */
static uint64_t wrong_keys(const uint32_t *got, int n, uint64_t round, int me, int processes,
			   int64_t *histogram)
{
	uint64_t all = (uint64_t)processes * PER_PROCESS, wrong = 0;

	for (uint32_t k = 0; k < KEYS; k++)
		histogram[k] = 0;
	for (uint64_t i = 0; i < all; i++) {
		uint32_t k = key(round * all + i);

		if (owner(k, processes) == me)
			histogram[k]++;
	}
	for (int i = 0; i < n; i++) {
		if (got[i] < KEYS)
			histogram[got[i]]--;
		else
			wrong++;
	}
	for (uint32_t k = 0; k < KEYS; k++)
		wrong += (uint64_t)llabs(histogram[k]);
	return wrong;
}

int main(int argc, char **argv)
{
	int me, processes, count[MOST], from[MOST], coming[MOST], to[MOST];
	uint64_t wrong = 0, all_wrong, bytes = 0, all_bytes;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &processes);
	if (processes > MOST)
		MPI_Abort(MPI_COMM_WORLD, 2);
	uint32_t *mine = malloc(sizeof(*mine) * PER_PROCESS);
	uint32_t *got = malloc(sizeof(*got) * PER_PROCESS * (unsigned)processes);
	int64_t *histogram = malloc(sizeof(*histogram) * KEYS);

	if (!mine || !got || !histogram)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		int n = 0;

		make_keys((round * (unsigned)processes + (unsigned)me) * PER_PROCESS, mine, count,
			  from, processes);
		MPI_Alltoall(count, 1, MPI_INT, coming, 1, MPI_INT, MPI_COMM_WORLD);
		for (int p = 0; p < processes; n += coming[p++])
			to[p] = n;
		MPI_Alltoallv(mine, count, from, MPI_UINT32_T, got, coming, to, MPI_UINT32_T,
			      MPI_COMM_WORLD);
		wrong += wrong_keys(got, n, round, me, processes, histogram);
		bytes += sizeof(*got) * (unsigned)(n - coming[me]);
	}
	MPI_Allreduce(&wrong, &all_wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&bytes, &all_bytes, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	if (!me)
		printf("%d processes, %llu bytes between them, %llu keys wrong\n", processes,
		       (unsigned long long)all_bytes, (unsigned long long)all_wrong);
	MPI_Finalize();
	return all_wrong ? 1 : 0;
}
