package chat

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/media"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
)

// startPatience bounds how long a person waits for slow servers at the start. A script waits for all.
const startPatience = 2 * time.Second

// store opens the store for conversations, and sets the folders of servers. The store is nil if the
// session is not interactive. The caller must call closer.
func (o *options) store(ctx context.Context, ui screen.Screen, servers *talk.Servers) (store record.Store, closer func() error, err error) {
	servers.Decisions, servers.Lists = place("approvals"), place("tools")
	if ui.Attended() && !o.oneShot {
		servers.Patience = startPatience
		return openStore(ctx, cmp.Or(o.database, place("conversations.db")))
	}
	if o.resume {
		return nil, nil, wrong("-continue needs a terminal")
	}
	return nil, func() error { return nil }, nil
}

// openStore opens the conversation store at path, or an in-memory store if path is empty.
func openStore(ctx context.Context, path string) (store record.Store, closer func() error, err error) {
	if path == "" {
		return record.NewMemory(), func() error { return nil }, nil
	}
	if store, closer, err = database.OpenStore(ctx, path); err != nil {
		return nil, nil, fmt.Errorf("open the conversations: %w", err)
	}
	return store, closer, nil
}

// mediaFolder returns the folder for images and audio of servers, or nil for a script.
func mediaFolder(ui screen.Screen) *media.Folder {
	if dir := place("media"); dir != "" && ui.Attended() {
		return media.NewFolder(dir)
	}
	return nil
}

// folder returns the folder in which the program was started, or "" if it is unknown.
func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// place returns the path of a file in the configuration folder, or "" if there is no such folder.
func place(name string) string { return cli.Place("chatbot", name) }
