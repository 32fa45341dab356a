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

// startPatience is how long a person waits for slow servers at the start. A script waits for all.
const startPatience = 2 * time.Second

// store returns where the conversation of a person is kept, with the decisions for later
// calls. A script goes by the decisions, and keeps no conversation. The caller closes what is kept.
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

// openStore opens the conversations that are kept. Without a place for them they end with the program.
func openStore(ctx context.Context, path string) (store record.Store, closer func() error, err error) {
	if path == "" {
		return record.NewMemory(), func() error { return nil }, nil
	}
	if store, closer, err = database.OpenStore(ctx, path); err != nil {
		return nil, nil, fmt.Errorf("open the conversations: %w", err)
	}
	return store, closer, nil
}

// mediaFolder is where pictures and sounds of servers are kept. A script keeps nothing.
func mediaFolder(ui screen.Screen) *media.Folder {
	if dir := place("media"); dir != "" && ui.Attended() {
		return media.NewFolder(dir)
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
func place(name string) string { return cli.Place("chatbot", name) }
