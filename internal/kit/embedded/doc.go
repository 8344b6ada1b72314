// Package embedded holds what a service without any configuration runs on: a data directory, an in-process Redis, and a
// secret. It is for one process, for trying the service out.
//
// Authoritative is the SQL file in the directory ([Home.SQLitePath]; package sqlstore opens it). The in-process Redis
// keeps nothing on disk: it is empty at every start, and every sale is rebuilt from the SQL file. A purchase that is
// only in Redis would be lost with the process, so in this mode an answer that names an order waits for its row.
//
//	data/            mode 0700 when it is made here
//	  lock           locked while a process uses the directory; holds its process id, for people
//	  secret         key of the tokens' signatures, mode 0600, made once
//	  seckill.db     the orders, mode 0600; SQLite keeps its -wal and -shm beside it
//	  settled        exists once the first start is complete
//
// What can go wrong, and what happens:
//
//	a second process               Open fails with ErrInUse and the holder's process id
//	the process is killed          the kernel releases the lock; the secret is complete or not there
//	killed during the first start  Fresh stays true until MarkSettled, so that the next start completes it
//	Run has ended or stalls        keys do not expire: locks are held longer, never shorter
//	another user of the machine    cannot read the files, and does not know Redis's password
//
// Only this process knows Redis's address and password: both are new at every start.
package embedded
