// Package sqlstore stores the runs of agents in an SQL database, SQLite or Postgres.
//
// The program opens the database and imports the driver:
//
//	import _ "modernc.org/sqlite"
//
//	db, err := sql.Open("sqlite", "runs.db")
//	…
//	store, err := sqlstore.OpenSQLite(ctx, db)
//
// It creates the tables, whose names begin with mcpchain_, and refuses a database whose
// settings can lose what it has committed.
//
// The guide is docs/durability.md of the repository.
//
// # SQLite
//
// The driver needs SQLite 3.35 or later and a file on a local disk. The store sets what durability
// needs, whatever the DSN says: the journal mode of the file to WAL, and on each connection that
// writes, synchronous to FULL, busy_timeout to 10 s and, on macOS, fullfsync to ON. A commit that
// changes only leases does not wait for the disk. That is safe: after a power cut no process holds
// a run, and epochs, which come from the clock, are not used again. If the DSN sets
// wal_autocheckpoint to 0, the program makes checkpoints.
//
// One transaction writes at a time, and it makes all changes that arrived during the previous
// one, so that many runs share a sync of the disk. Any number of processes of one machine may
// share the file. A process that is stopped during a commit blocks the writes of others until it
// ends or continues.
//
// # Postgres
//
// The server has to be of version 12 or later, and the database of encoding UTF8. Each change is a
// transaction on a connection of its own, which is tried up to eight times if it conflicts with
// another one. Bound the connections with [sql.DB.SetMaxOpenConns] to at least 2, because one of
// them is reserved for renewals of leases; database/sql has no bound by default. Tables are created in
// the first schema of the search_path. If the role may not create tables, call OpenPostgres once as
// another role. The driver has to take the parameters $1, $2, ….
//
// # Time
//
// Leases expire by one clock: with Postgres the server's, with SQLite the machine's. A wrong
// clock elsewhere takes no run from its holder.
package sqlstore
