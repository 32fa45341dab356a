// Package database opens and reads the place where runs are kept: a SQLite file, a Postgres database, or a folder.
package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of Postgres
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// maxConnections bounds the connections of a process to a database.
const maxConnections = 20

// busyTimeout lets SQLite wait up to 10,000 ms for another process.
const busyTimeout = "_pragma=busy_timeout(10000)"

// DB is an open database, and the store of runs in it.
type DB struct {
	*sql.DB
	Runs sqlstore.Store
}

// postgresParameters matches the connection parameters of Postgres, such as "dbname=runs host=db".
var postgresParameters = regexp.MustCompile(
	`^\s*(host|hostaddr|port|dbname|database|user|password|service|sslmode)\s*=`)

// IsPostgres reports whether a place is the URL or the connection parameters of a Postgres
// database. It does not try to reach it.
func IsPostgres(place string) bool {
	scheme, _, found := strings.Cut(place, "://")
	if found {
		return strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql")
	}
	return postgresParameters.MatchString(place)
}

// postgresSource returns a Postgres place as the driver wants it: with the scheme in lower case.
func postgresSource(place string) string {
	if scheme, rest, found := strings.Cut(place, "://"); found {
		return strings.ToLower(scheme) + "://" + rest
	}
	return place
}

// Open opens a Postgres database or a SQLite file, which it creates if it does not exist. The
// folder of the file has to exist, unless it is in the program's configuration folder. Only the
// user of this process may read a new file. The error matches [cli.FileError] if the place cannot be
// a database. The caller closes the database; several processes may use it concurrently.
func Open(ctx context.Context, place string) (*DB, error) {
	if IsPostgres(place) {
		return open(ctx, "pgx", postgresSource(place), sqlstore.OpenPostgres)
	}
	if place == "" {
		return nil, storeError(errors.New("the configuration folder is not known: name a file"))
	}
	if scheme, _, found := strings.Cut(place, "://"); found {
		return nil, storeError(fmt.Errorf("runs are not kept at %s:// places: "+
			"want a file, or a URL that begins with postgres://", scheme))
	}
	if err := createFile(place); err != nil {
		return nil, err
	}
	return open(ctx, "sqlite", sqliteSource(place, busyTimeout), sqlstore.OpenSQLite)
}

// sqliteSource returns a SQLite file as the driver wants it.
func sqliteSource(file, options string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: options}
	return u.String()
}

// open opens a database, and creates the tables of runs.
func open(
	ctx context.Context, driver, source string, openStore func(context.Context, *sql.DB) (sqlstore.Store, error),
) (*DB, error) {
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConnections)
	runs, err := openStore(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &DB{db, runs}, nil
}

// OpenStore opens the store of runs at a place. Unlike for [Open], the place may be a folder: an existing one that is
// empty or a store, or a name that ends with a slash. The caller closes the store.
func OpenStore(ctx context.Context, place string) (record.Store, func() error, error) {
	if isFolder(place) {
		if err := cmp.Or(makeFolder(filepath.Dir(filepath.Clean(place))), checkFolder(place)); err != nil {
			return nil, nil, err
		}
		store, err := filestore.Open(place, nil)
		return store, func() error { return nil }, err
	}
	db, err := Open(ctx, place)
	if err != nil {
		return nil, nil, err
	}
	return db.Runs, db.Close, nil
}

// IsUnavailable reports whether an error of a store says that its database cannot serve now: the server starts or ends, or
// lacks a resource, or the disk of a file is full or fails.
func IsUnavailable(err error) bool {
	if file, ok := errors.AsType[*sqlite.Error](err); ok {
		primary := file.Code() & 0xff
		return primary == sqlite3.SQLITE_FULL || primary == sqlite3.SQLITE_IOERR
	}
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains([]string{"08", "53", "57", "58"}, server.Code[:min(2, len(server.Code))])
}

// LoadState returns the current state of a stored run.
func LoadState(ctx context.Context, store record.Store, key run.Key) (*ledger.State, error) {
	log, err := store.LoadCurrent(ctx, key)
	if err != nil {
		return nil, err
	}
	return ledger.StateOf(log.Records)
}

// Head returns the head of a stored run. The error matches [record.ErrNotFound] if there is none.
func Head(ctx context.Context, store record.Store, key run.Key) (run.Head, error) {
	for head, err := range store.List(ctx, record.Query{Tenant: key.Tenant, ID: key.ID, Limit: 1}) {
		return head, err
	}
	return run.Head{}, fmt.Errorf("run %q: %w", key.ID, record.ErrNotFound)
}

// isFolder reports whether a place names a folder. A URL that ends with a slash does not.
func isFolder(place string) bool {
	info, err := os.Stat(place)
	return err == nil && info.IsDir() || strings.HasSuffix(place, "/") && !strings.Contains(place, "://")
}

// createFile creates a file that only the user of this process may read, unless it exists. SQLite
// gives the files that it creates beside it the same permissions.
func createFile(path string) error {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return storeError(err)
	}
	return errors.Join(file.Close(), checkFile(path))
}

// makeFolder creates a folder within the program's configuration folder. Another one has to exist:
// its name may be mistyped.
func makeFolder(folder string) error {
	if own := cli.Place(); own != "" {
		if path, err := filepath.Rel(own, folder); err == nil && filepath.IsLocal(path) {
			return storeError(os.MkdirAll(folder, 0o700))
		}
	}
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return storeError(fmt.Errorf("there is no folder %s: create it, or name another place", folder))
	}
	return nil
}

// Check returns an error for a file or a folder without a store of runs. It creates nothing, and does not check other
// places.
func Check(ctx context.Context, place string) error {
	if place == "" || IsPostgres(place) || strings.Contains(place, "://") {
		return nil
	}
	info, err := os.Stat(place)
	isStore := false
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("there is no %s; -store names another file, folder or database", place)
	case err != nil:
	case info.IsDir():
		isStore = isFileStore(place)
	default:
		if err := checkFile(place); err != nil {
			return err
		}
		isStore = hasRuns(ctx, place)
	}
	if err == nil && !isStore {
		err = fmt.Errorf("%s is not a store of runs", place)
	}
	return storeError(err)
}

// storeError returns an error about the file or folder of -store, nil for nil.
func storeError(err error) error {
	if err == nil {
		return nil
	}
	return &cli.FileError{Err: fmt.Errorf("-store: %w", err)}
}

// storeFolders are the folders that [filestore.Open] creates in a store.
var storeFolders = []string{"locks", "due", "waiting"}

// isFileStore reports whether a folder has what [filestore.Open] creates.
func isFileStore(folder string) bool {
	for _, name := range storeFolders {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// lostAndFound is a folder at the root of a volume, in which the file system keeps what it repairs.
const lostAndFound = "lost+found"

// checkFolder returns an error if a folder has content that is not that of a store of runs. The store may lack a folder: another
// process may be creating it.
func checkFolder(folder string) error {
	if isFileStore(folder) {
		return nil
	}
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return !slices.Contains(storeFolders, e.Name()) && e.Name() != lostAndFound
	}):
		err = fmt.Errorf("%s is neither empty nor a store of runs", folder)
	}
	return storeError(err)
}

// checkFile returns an error if a file has content and is not a SQLite database.
func checkFile(path string) error {
	const magic = "SQLite format 3\x00"
	file, err := os.Open(path)
	if err != nil {
		return storeError(err)
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, int64(len(magic))))
	if err != nil {
		return storeError(err)
	}
	if len(head) > 0 && string(head) != magic {
		return storeError(fmt.Errorf("%s is not a SQLite database", path))
	}
	return nil
}

// hasRuns reports whether a file is a SQLite database with the table of runs. It is true for a
// database that cannot be read: the error of [Open] says why.
func hasRuns(ctx context.Context, file string) bool {
	db, err := sql.Open("sqlite", sqliteSource(file, "mode=ro"))
	if err != nil {
		return true
	}
	defer db.Close()
	var found bool
	err = db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM sqlite_master WHERE name = 'mcpchain_runs'").Scan(&found)
	return found || err != nil
}
