package chat

import (
	"cmp"
	"context"
	"fmt"
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

// isInteractive reports whether a person has a conversation of several turns.
func (o *options) isInteractive(ui screen.Screen) bool { return ui.Attended() && !o.oneShot }

// setPlaces sets where servers keep decisions and lists, and how long the start waits for them.
func (o *options) setPlaces(servers *talk.Servers, ui screen.Screen) {
	servers.Decisions, servers.Lists = place("approvals"), place("tools")
	if o.isInteractive(ui) {
		servers.Patience = startPatience
	}
}

// openStore opens the store for conversations. It returns a nil store if the session is not
// interactive. The caller must call closeStore.
func (o *options) openStore(ctx context.Context, ui screen.Screen) (store record.Store, closeStore func() error, err error) {
	nothing := func() error { return nil }
	if !o.isInteractive(ui) {
		if o.resume {
			return nil, nil, wrong("-continue needs a terminal")
		}
		return nil, nothing, nil
	}
	path := cmp.Or(o.database, place("conversations.db"))
	if path == "" { // there is no configuration folder
		return record.NewMemory(), nothing, nil
	}
	if store, closeStore, err = database.OpenStore(ctx, path); err != nil {
		return nil, nil, fmt.Errorf("open the conversations: %w", err)
	}
	return store, closeStore, nil
}

// mediaFolder returns the folder for images and audio of servers, or nil for a script.
func mediaFolder(ui screen.Screen) *media.Folder {
	if dir := place("media"); dir != "" && ui.Attended() {
		return media.NewFolder(dir)
	}
	return nil
}

// place returns the path of a file in the configuration folder, or "" if there is no such folder.
func place(name string) string { return cli.Place("chatbot", name) }
