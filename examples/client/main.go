// Client uses one MCP server without a model or a framework. It lists the tools of the server or
// calls one, and you fill in the server's forms. A server that asks a model is in examples/sampling.
//
//	go run ./examples/client npx -y @modelcontextprotocol/server-everything
//	go run ./examples/client -call get-sum -args '{"a":17,"b":25}' npx -y @modelcontextprotocol/server-everything
//	go run ./examples/client -call trigger-elicitation-request npx -y @modelcontextprotocol/server-everything
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func main() {
	tool := flag.String("call", "", "the `tool` to call, instead of listing them")
	args := flag.String("args", "{}", "the arguments of the tool, a JSON `object`")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: client [flags] COMMAND [ARGUMENT …], where the command starts an MCP server")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := &mcpclient.Command{Path: flag.Arg(0), Args: flag.Args()[1:], Stderr: hosttext.NewWriter(os.Stderr)}
	you := newPerson(os.Stdin, os.Stderr)
	if err := use(ctx, server, you, *tool, *args, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "client:", hosttext.Line(err.Error(), 4000))
		os.Exit(1)
	}
}

// use connects to the server, and calls a tool, or lists all if tool is "".
func use(ctx context.Context, server mcpclient.Transport, you *person, tool, args string, out io.Writer) error {
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{Elicitation: mcp.ElicitationFunc(you.fillIn)})
	if err != nil {
		return err
	}
	defer client.Close()
	if tool == "" {
		for t, err := range client.Tools(ctx) {
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: %s\n  arguments: %s\n",
				hosttext.Line(t.Name, 200), hosttext.Quote(t.Description), hosttext.JSONLine(string(t.InputSchema)))
		}
		return nil
	}
	result, err := client.CallTool(ctx, tool, json.RawMessage(args))
	if err != nil {
		return err
	}
	if err := result.Err(); err != nil { // the tool ran, and failed
		return err
	}
	fmt.Fprintln(out, hosttext.Prose(result.Text()))
	return nil
}
