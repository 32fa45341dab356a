// Package chat is the command chat: a conversation with a model that uses the tools of MCP servers.
//
// Without flags it starts a demo server as a child process and a demo model on the loopback
// interface, and needs no key and no configuration:
//
//	printf 'What is 17 plus 25?\n' | go run ./cmd/mcpchain -yes
package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/media"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/setup"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Main runs the command, and returns its exit status.
func Main(args []string) int {
	o, err := parseFlags(args, os.Getenv, os.Stdout)
	if err == nil {
		err = chat(o)
	}
	if errors.Is(err, talk.ErrReported) {
		return cli.StatusFailed
	}
	if quit, ok := errors.AsType[*talk.QuitError](err); ok {
		return 128 + int(quit.Signal)
	}
	return cli.Status(err, os.Stderr)
}

// chat opens a screen and has a conversation there.
func chat(o *options) (err error) {
	ctx, interrupts := talk.WatchSignals()
	defer interrupts.Stop()
	ui := o.openScreen(ctx, interrupts)
	defer func() {
		_, isUsage := errors.AsType[*cli.Error](err) // it writes no object with -json
		if err != nil && !isUsage && !errors.Is(err, talk.ErrReported) {
			screen.MarkFailed(ui, err)
		}
		err = cmp.Or(err, ui.Close())
	}()
	if err := o.addInput(ctx, os.Stdin, ui); err != nil {
		return err
	}
	return o.converse(ctx, ui, interrupts)
}

// converse creates what a conversation needs, and holds it until its end.
func (o *options) converse(ctx context.Context, ui screen.Screen, interrupts *talk.Interrupts) (err error) {
	servers, answers, err := o.servers(ctx, ui)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	store, closeStore, err := o.openStore(ctx, ui)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer func() { err = cmp.Or(err, closeStore()) }()
	folder, _ := os.Getwd() // "" if it is unknown
	session, err := talk.Open(ctx, talk.Config{
		Screen:         ui,
		Interrupts:     interrupts,
		Person:         person.New(ui, o.yes, answers),
		Models:         o.model,
		Servers:        servers,
		NoInstructions: o.noInstructions,
		Store:          store,
		Continue:       o.resume,
		Folder:         folder,
		Media:          mediaFolder(ui),
	})
	if err != nil {
		return err
	}
	defer session.Close()
	if o.oneShot {
		return session.Ask(ctx, o.prompt)
	}
	return session.Talk(ctx)
}

// startPatience bounds how long a person waits for slow servers at the start. A script waits for all.
var startPatience = 2 * time.Second

// isInteractive reports whether a person has a conversation of several turns.
func (o *options) isInteractive(ui screen.Screen) bool { return ui.Attended() && !o.oneShot }

// openStore opens the store for conversations. Those of scripts end with the program. The caller must call closeStore.
func (o *options) openStore(
	ctx context.Context, ui screen.Screen,
) (store record.Store, closeStore func() error, err error) {
	path := cmp.Or(o.database, place("conversations.db"))
	switch {
	case !o.isInteractive(ui) && o.resume:
		return nil, nil, wrong("-continue needs a terminal")
	case !o.isInteractive(ui) && o.database != "":
		return nil, nil, wrong("-store is for a conversation on a terminal: that of a script is not stored")
	case !o.isInteractive(ui) || path == "": // there is no configuration folder
		return record.NewMemory(), func() error { return nil }, nil
	}
	if store, closeStore, err = database.OpenStore(ctx, path); err != nil {
		return nil, nil, fmt.Errorf("open the conversations, which -store keeps in another place: %w", err)
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

// servers returns the servers, and the prepared answers to their forms by server.
func (o *options) servers(
	ctx context.Context, ui screen.Screen,
) (servers *talk.Servers, given map[string]answers.Answers, err error) {
	var file *setup.File
	hasModel := o.model.Model.Name != ""
	places := setup.Places{Project: "mcp.json", User: cli.Place("mcp.json"), Trust: place("trusted")}
	switch {
	case o.config == cli.NoServers: // there is no file
	case o.demo || o.config == "" && !hasModel:
		if path := places.Candidate(); path != "" && !o.demo {
			ui.Note(screen.Faint, "servers: the demo server only, as there is no model of yours. "+
				"The file %s is not used: -base-url and -model name a model that uses it", hosttext.Line(path, 400))
		}
		servers, err = talk.DemoServer()
	case o.config == "":
		file, err = places.Find(ctx, ui)
	default:
		file = &setup.File{Path: o.config}
	}
	if err == nil && servers == nil {
		entries, readErr := file.Read(ctx, ui)
		servers, err = talk.NewServers(entries), readErr
	}
	if err != nil {
		return nil, nil, err
	}
	servers.ConnectTimeout = o.timeouts.Connect
	servers.Timeouts = mcpclient.Timeouts{
		Idle:           o.timeouts.Idle,
		Call:           o.timeouts.Call,
		URLElicitation: -1, // the person waits for pages
	}
	servers.Decisions, servers.Lists = place("approvals"), place("tools")
	if o.isInteractive(ui) {
		servers.Patience = startPatience
	}
	if err := o.revisions.Apply(servers.Good); err != nil {
		return nil, nil, wrong(err.Error())
	}
	if given, err = o.answers.ByServer(servers.Names()); err != nil {
		return nil, nil, wrong(err.Error())
	}
	return servers, given, nil
}
