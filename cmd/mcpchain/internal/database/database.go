// Package database opens and reads the place where runs are kept: a SQLite file, a Postgres database, or a folder.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the drivers
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// connections bounds the connections of a process to a database.
const connections = 20

// DB is an open database, and the store of runs in it.
type DB struct {
	*sql.DB
	Runs sqlstore.Store
}

// parameters matches the connection parameters of Postgres, such as "dbname=runs host=db".
var parameters = regexp.MustCompile(`^\s*(host|hostaddr|port|dbname|database|user|password|service|sslmode)\s*=`)

// IsPostgres reports whether a place is the URL or the connection parameters of a Postgres database. It does not try to reach it.
func IsPostgres(place string) bool {
	scheme, _, found := strings.Cut(place, "://")
	if found {
		return strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql")
	}
	return parameters.MatchString(place)
}

// connection returns a Postgres place as the driver wants it: with the scheme in lower case.
func connection(place string) string {
	if scheme, rest, found := strings.Cut(place, "://"); found {
		return strings.ToLower(scheme) + "://" + rest
	}
	return place
}

// Open opens a Postgres database or a SQLite file, which it creates if it does not exist. Only the
// user of this process may read the file. The caller closes the database; several processes may
// use it at once.
func Open(ctx context.Context, place string) (*DB, error) {
	if IsPostgres(place) {
		return open(ctx, "pgx", connection(place), sqlstore.DialectPostgres)
	}
	if place == "" {
		return nil, errors.New("there is no folder of configurations to keep runs in: name a file by -store")
	}
	if scheme, _, found := strings.Cut(place, "://"); found {
		return nil, fmt.Errorf("-store: runs are not kept at %s:// places: want a file, or a URL that begins with postgres://", scheme)
	}
	if err := createFile(place); err != nil {
		return nil, err
	}
	file := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(place), RawQuery: "_pragma=busy_timeout(10000)"} // ms
	return open(ctx, "sqlite", file.String(), sqlstore.DialectSQLite)
}

// open opens a database, and creates the tables of runs.
func open(ctx context.Context, driver, source string, dialect sqlstore.Dialect) (*DB, error) {
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	runs, err := sqlstore.New(ctx, db, dialect)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &DB{db, runs}, nil
}

// OpenStore opens the store of runs at a place. Unlike for [Open], the place may be a folder: an
// existing one, or a name that ends with a slash. The caller closes the store.
func OpenStore(ctx context.Context, place string) (record.Store, func() error, error) {
	if isFolder(place) {
		store, err := filestore.Open(place, nil)
		return store, func() error { return nil }, err
	}
	db, err := Open(ctx, place)
	if err != nil {
		return nil, nil, err
	}
	return db.Runs, db.Close, nil
}

// LoadState returns the current state of a stored run.
func LoadState(ctx context.Context, store record.Store, key run.Key) (*ledger.State, error) {
	log, err := record.LoadCurrent(ctx, store, key)
	if err != nil {
		return nil, err
	}
	return ledger.StateOf(log.Records)
}

// isFolder reports whether a place names a folder. A URL that ends with a slash does not.
func isFolder(place string) bool {
	info, err := os.Stat(place)
	return err == nil && info.IsDir() || strings.HasSuffix(place, "/") && !strings.Contains(place, "://")
}

// createFile creates a file that only the user of this process may read, unless it exists. SQLite
// gives the files that it creates beside it the same permissions.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}
