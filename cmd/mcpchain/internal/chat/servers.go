package chat

import (
	"context"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/setup"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
)

// servers returns the servers, and the prepared answers to their forms by server.
func (o *options) servers(
	ctx context.Context, ui screen.Screen,
) (servers *talk.Servers, given map[string]answers.Answers, err error) {
	var file *setup.File
	places := setup.Places{Project: "mcp.json", User: cli.Place("mcp.json"), Trust: place("trusted")}
	switch {
	case o.config == cli.NoServers:
		servers = &talk.Servers{}
	case o.demo || o.config == "" && o.model.Model.Name == "":
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
		servers, err = readServers(ctx, file, ui)
	}
	if err != nil {
		return nil, nil, err
	}
	servers.ConnectTimeout = o.timeouts.Connect
	if err := o.revisions.Apply(servers.Good); err != nil {
		return nil, nil, wrong(err.Error())
	}
	if given, err = o.answers.ByServer(servers.Names()); err != nil {
		return nil, nil, wrong(err.Error())
	}
	return servers, given, nil
}

// readServers reads the servers of a file, which may be nil.
func readServers(ctx context.Context, file *setup.File, ui screen.Screen) (*talk.Servers, error) {
	if file == nil {
		return &talk.Servers{}, nil
	}
	cfg, err := file.Read(ctx, ui)
	if err != nil {
		return nil, err
	}
	return talk.NewServers(cfg), nil
}
