package config_test

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

func ExampleLoader_LoadData() {
	const text = `{
	  "mcpServers": {
	    "files":  {"command": "file-server", "args": ["--root", "${ROOT:-.}"]},
	    "remote": {"url": "https://example.com/mcp", "disabled": true},
	    "notes":  {"comand": "note-server"}
	  }
	}`
	cfg, err := new(config.Loader).LoadData(context.Background(), "mcp.json", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range cfg {
		if s.Err != nil {
			fmt.Println(s.Name, "cannot be used:", s.Err)
			continue
		}
		switch t := s.Transport.(type) {
		case *mcpclient.Command:
			fmt.Println(s.Name, "runs", t.Path, t.Args)
		case *mcpclient.HTTP:
			fmt.Println(s.Name, "is at", t.URL)
		case nil:
			fmt.Println(s.Name, "is disabled")
		}
	}

	_, err = new(config.Loader).LoadData(context.Background(), "mcp.json", []byte(`{"mcpServers": {"files": {]}}`))
	fmt.Println(err)
	// Output:
	// files runs file-server [--root .]
	// remote is disabled
	// notes cannot be used: mcp.json:5: mcpServers.notes.comand: unknown key; did you mean "command"? known keys: args, command, cwd, disabled, env, envFile, excludeTools, headers, includeTools, oauth, revision, start, timeout, type, url
	// mcp.json:1: "]", want a key in double quotes or }
}
