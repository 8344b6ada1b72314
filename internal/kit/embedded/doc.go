// Package embedded provides a data directory, an in-process Redis and a secret for a service without any configuration.
// It is for a single process, for trying the service out.
//
// The SQL file in the directory is authoritative ([Home.SQLitePath]; package sqlstore opens it). The in-process Redis
// keeps nothing on disk: it starts empty, and every sale is rebuilt from the SQL file. A purchase that exists only in
// Redis would be lost with the process, so in this mode an answer with an order waits for the order's row.
//
//	data/            mode 0700 if created here
//	  lock           locked while a process uses the directory; contains its process id, for people
//	  secret         key of the tokens' signatures, mode 0600, created once
//	  seckill.db     the orders, mode 0600; SQLite keeps its -wal and -shm files beside it
//	  settled        exists once the first start is complete
//
// What can go wrong, and what follows:
//
//	a second process               Open fails with ErrInUse and the holder's process id
//	the process is killed          the kernel releases the lock; the secret is complete or absent
//	killed during the first start  Fresh stays true until MarkSettled, so that the next start completes it
//	Run has ended or stalls        keys do not expire: locks are held longer, never shorter
//	another user of the machine    cannot read the files, and does not know Redis's password
//
// Only this process knows Redis's address and password, which change at every start.
package embedded
