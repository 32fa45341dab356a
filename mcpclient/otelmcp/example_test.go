package otelmcp_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/otelmcp"
)

// greeter is a server of the official SDK, with a tool that returns the trace of its call.
func greeter() mcpclient.Transport {
	server := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "greet"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(r.Params.Meta["traceparent"])}}}, nil, nil
	})
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go func() { _ = server.Run(context.Background(), &sdk.IOTransport{Reader: fromClient, Writer: toClient}) }()
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

func ExampleNew() {
	spans := tracetest.NewInMemoryExporter() // a program uses an exporter that sends them
	sent, served, err := otelmcp.New(&otelmcp.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		Propagator:     propagation.TraceContext{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, greeter(), &mcpclient.Options{
		Middleware:       []mcpclient.Middleware{sent},
		ServerMiddleware: []mcpclient.Middleware{served},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	result, err := client.CallTool(ctx, "greet", nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	all := spans.GetSpans()
	call := all[len(all)-1]
	fmt.Println(call.Name, call.SpanKind)
	slices.SortFunc(call.Attributes, func(a, b attribute.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	for _, a := range call.Attributes {
		fmt.Println(" ", a.Key, a.Value.AsInterface())
	}
	fmt.Println("the server knows the span:", strings.Contains(result.Text(), call.SpanContext.SpanID().String()))
	// Output:
	// tools/call greet client
	//   gen_ai.operation.name execute_tool
	//   gen_ai.tool.name greet
	//   jsonrpc.request.id 2
	//   mcp.method.name tools/call
	//   mcp.protocol.version 2026-07-28
	//   network.transport pipe
	// the server knows the span: true
}
