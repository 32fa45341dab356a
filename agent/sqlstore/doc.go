// Package sqlstore keeps the runs of agents in a SQL database, SQLite or Postgres.
//
// The program opens the database and imports the driver; the package links none:
//
//	import _ "modernc.org/sqlite"
//
//	db, err := sql.Open("sqlite", "runs.db")
//	…
//	store, err := sqlstore.New(ctx, db, sqlstore.DialectSQLite)
//
// New makes the tables, whose names begin with mcpchain_, and refuses a database whose
// settings can lose what it has committed.
//
// The guide is docs/durability.md of the repository.
//
// # SQLite
//
// The driver has to give SQLite 3.35 or later, in a file of a local disk. The store sets what
// durability needs, whatever the DSN says: the journal mode of the file to WAL, and on each
// connection that it writes with, synchronous to FULL, busy_timeout to 10 s and, on macOS,
// fullfsync to ON; processes that make the file at one time wait for each other. A commit of leases
// alone does not wait for the disk: after a power cut no process holds a run, and the clock keeps an
// epoch from being used again. A commit of leases makes a checkpoint if the log has more pages
// than wal_autocheckpoint; another commit makes one at ten times as many. If the DSN sets
// wal_autocheckpoint to 0, the program makes checkpoints.
//
// One transaction writes at a time, and it has all the changes that have come during the one before
// it: many runs share a sync of the disk. Any number of processes of one machine may share the file.
// A process that is stopped within a commit keeps the others from writing until it ends or continues.
//
// # Postgres
//
// The server has to be of version 12 or later, and the database of encoding UTF8. Each
// change is a transaction on a connection of its own, which is tried again, eight times at
// most, if it meets another one. Bound the connections by [sql.DB.SetMaxOpenConns]: the
// default of database/sql is more than a server takes. Tables are made in the first
// schema of the search_path. A role that may not make tables needs them
// made before, by a call of New as another role.
//
// # Time
//
// Leases go by one clock: with Postgres by the server's, with SQLite by the
// machine's. Another clock that is wrong takes no run from its holder.
package sqlstore
