package otelagent_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/otelagent"
)

func ExampleNew() {
	spans := tracetest.NewInMemoryExporter() // a program uses an exporter that sends them
	telemetry, err := otelagent.New(&otelagent.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	add := adapter.Func("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}, nil)
	model := play(uses("1", "add", `{"A":1,"B":2}`), says("It is 3.")) // a program uses a model of langchaingo
	a, err := agent.New(model, &agent.Options{
		Name:     "calculator",
		Tools:    []adapter.Source{add},
		Observer: telemetry,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := a.Run(context.Background(), agent.Text("What is 1 + 2?")); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range spans.GetSpans() {
		fmt.Printf("%s (%s), child of a span: %t\n", s.Name, s.SpanKind, s.Parent.IsValid())
	}
	// Output:
	// chat m (client), child of a span: true
	// execute_tool add (internal), child of a span: true
	// chat m (client), child of a span: true
	// invoke_agent calculator (internal), child of a span: false
}
