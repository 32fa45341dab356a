package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver of the conversations

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/media"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
)

// startPatience is how long a person waits for slow servers at the start. A script waits for all.
const startPatience = 2 * time.Second

// store returns where the conversation of a person is kept, with the decisions for later
// calls. A script goes by the decisions, and keeps no conversation. The caller closes what is kept.
func (o *options) store(ctx context.Context, ui screen.Screen, servers *talk.Servers) (store record.Store, closer func() error, err error) {
	servers.Decisions, servers.Lists = place("approvals"), place("tools")
	if ui.Attended() && !o.oneShot {
		servers.Patience = startPatience
		return openStore(ctx, place("conversations.db"))
	}
	if o.resume {
		return nil, nil, wrong("-continue needs a terminal")
	}
	return nil, func() error { return nil }, nil
}

// openStore opens the conversations that are kept, in a file that only the person can read.
// Without a place for them they end with the program.
func openStore(ctx context.Context, path string) (store record.Store, closer func() error, err error) {
	if path == "" {
		return record.NewMemory(), func() error { return nil }, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("open the conversations: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := file.Close(); err != nil {
		return nil, nil, err
	}
	// Several programs of the person may use the file at once.
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: "_pragma=busy_timeout(10000)"}).String())
	if err != nil {
		return nil, nil, err
	}
	store, err = sqlstore.New(ctx, db, sqlstore.DialectSQLite)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return store, db.Close, nil
}

// mediaFolder is where pictures and sounds of servers are kept. A script keeps nothing.
func mediaFolder(ui screen.Screen) *media.Folder {
	if dir := place("media"); dir != "" && ui.Attended() {
		return media.At(dir)
	}
	return nil
}

// folder is where the program was started, "" if that is not known.
func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// place is where the program keeps something for the person, "" if there is no place.
func place(name string) string {
	if dir := userPlace("chatbot"); dir != "" {
		return filepath.Join(dir, name)
	}
	return ""
}

// userPlace is a file of the person's configuration, "" if there is no place for it.
func userPlace(name string) string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mcpchain", name)
}
