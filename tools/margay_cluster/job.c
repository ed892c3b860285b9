/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The job of `make cluster`: each process says where it is, all of them add up pi, and two measure
 * the way to each other.
 */
#include <mpi.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { STEPS = 10000000, ROUNDS = 200, BYTES = 8 };

static double part_of_pi(int rank, int size)
{
	double sum = 0;

	for (int i = rank; i < STEPS; i += size) {
		double x = (i + 0.5) / STEPS;
		sum += 4 / (1 + x * x);
	}
	return sum / STEPS;
}

/* Microseconds there and back, by the first and the last process; 0 for one alone. */
static double round_trip(int rank, int size)
{
	char data[BYTES] = { 0 };
	int other = rank ? 0 : size - 1;

	MPI_Barrier(MPI_COMM_WORLD);
	if (size == 1 || (rank && rank != size - 1))
		return 0;
	double begin = MPI_Wtime();
	for (int i = 0; i < ROUNDS; i++) {
		if (rank == 0)
			MPI_Send(data, BYTES, MPI_CHAR, other, 0, MPI_COMM_WORLD);
		MPI_Recv(data, BYTES, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank)
			MPI_Send(data, BYTES, MPI_CHAR, other, 0, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - begin) / ROUNDS * 1e6;
}

int main(int argc, char **argv)
{
	struct utsname system;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	uname(&system);
	printf("process %d of %d: on %s, Linux %s\n", rank, size, system.nodename, system.release);
	fflush(stdout);

	double part = part_of_pi(rank, size), pi = 0;
	MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	double us = round_trip(rank, size);
	if (rank == 0)
		printf("pi = %.10f; %d bytes there and back: %.0f us\n", pi, BYTES, us);
	/*
	 * MPICH before 4.2, by UCX: who has ended waits for the others at a barrier at which it
	 * answers nobody. One that has answered it while still at work, and only then begins to
	 * end, is never answered (pmodels/mpich, pull request 6596). So all stop before one ends.
	 */
	MPI_Barrier(MPI_COMM_WORLD);
	sleep(1);
	MPI_Finalize();
	return 0;
}
