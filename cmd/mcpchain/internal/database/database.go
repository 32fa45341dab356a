// Package database opens where runs are kept: a SQLite file, a Postgres database, or a folder.
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
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// connections bounds what a process takes of a database.
const connections = 20

// DB is an open database, with its runs.
type DB struct {
	*sql.DB
	Runs sqlstore.Store
}

// keywords matches a Postgres database that is given by keywords, such as host=db dbname=runs.
var keywords = regexp.MustCompile(`^\s*(host|hostaddr|port|user|password|dbname|sslmode|service)\s*=`)

// IsPostgres reports whether a place is a Postgres database: its URL, or keywords such as host=db dbname=runs.
func IsPostgres(place string) bool {
	scheme, _, isURL := strings.Cut(strings.ToLower(place), "://")
	return isURL && (scheme == "postgres" || scheme == "postgresql") || keywords.MatchString(place)
}

// Open opens a place, which is made if it is a file that is not there. The caller closes it. Only the user of this
// process may read the file. Several processes may use it at once.
func Open(ctx context.Context, place string) (_ *DB, err error) {
	driver, source, dialect := "pgx", place, sqlstore.DialectPostgres
	if scheme, rest, found := strings.Cut(place, "://"); found {
		source = strings.ToLower(scheme) + "://" + rest // as the driver knows it
	}
	if !IsPostgres(place) {
		if driver, dialect = "sqlite", sqlstore.DialectSQLite; place == "" {
			return nil, errors.New("there is no folder of configurations to keep runs in: name a file by -store")
		}
		if scheme, _, found := strings.Cut(place, "://"); found {
			return nil, fmt.Errorf("-store: runs are not kept at %s:// places: want a file, or a URL that begins with postgres://", scheme)
		}
		if err := prepare(place); err != nil {
			return nil, err
		}
		source = (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(place), RawQuery: "_pragma=busy_timeout(10000)"}).String() // ms
	}
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

// OpenStore opens a place for runs alone, which may be a folder, too: one that is there, or a name that ends with a slash. The
// caller closes it.
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

// isFolder reports whether a place is a folder. A URL that ends with a slash is none.
func isFolder(place string) bool {
	info, err := os.Stat(place)
	return err == nil && info.IsDir() || strings.HasSuffix(place, "/") && !strings.Contains(place, "://")
}

// prepare makes a file that only the user of this process may read. Those that SQLite makes beside it get the same rights.
func prepare(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}
