package agent_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// weather runs an MCP server in this process, whose tool asks for the city when
// it is not told.
func weather() mcpclient.Transport {
	server := sdk.NewServer(&sdk.Implementation{Name: "weather", Version: "1"}, nil)
	type input struct {
		City string `json:"city,omitempty"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "forecast", Description: "Weather of a city"},
		func(_ context.Context, r *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
			if answer, ok := r.Params.InputResponses["city"].(*sdk.ElicitResult); ok {
				in.City = fmt.Sprint(answer.Content["city"])
			}
			if in.City != "" {
				return text("Sunny in " + in.City + "."), nil, nil
			}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"city": &sdk.ElicitParams{
				Message: "Which city?",
				RequestedSchema: map[string]any{
					"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}},
				},
			}}}, nil, nil
		})
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	if _, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: fromClient, Writer: toClient}, nil); err != nil {
		log.Fatal(err)
	}
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

func Example() {
	ctx := context.Background()
	toolset, err := adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weather()}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer toolset.Close()

	// Any model will do; this one plays a script.
	model := play(uses(toolCall("1", "forecast", `{"city":"Oslo"}`)), says("Take sunglasses."))
	a, err := agent.New(model, &agent.Options{System: "Be brief.", Tools: []adapter.Source{toolset}})
	if err != nil {
		log.Fatal(err)
	}
	result, err := a.Run(ctx, agent.Text("What do I need in Oslo?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Output)
	fmt.Println(result.Usage.Turns, "turns,", result.Usage.Calls, "tool call")
	// Output:
	// Take sunglasses.
	// 2 turns, 1 tool call
}

func ExampleAgent_Events() {
	ctx := context.Background()
	toolset, err := adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weather()}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer toolset.Close()
	model := play(uses(toolCall("1", "forecast", `{"city":"Oslo"}`)), says("Take sunglasses."))
	a, err := agent.New(model, &agent.Options{Tools: []adapter.Source{toolset}})
	if err != nil {
		log.Fatal(err)
	}

	input := agent.Text("What do I need in Oslo?")
	result := agent.Result{Messages: input}
	for event, err := range a.Events(ctx, input) {
		if err != nil {
			log.Fatal(err)
		}
		result.Add(event)
		switch e := event.(type) {
		case *agent.ToolStart:
			fmt.Printf("%s on %s: %s\n", e.Tool, e.Server, e.Arguments)
		case *agent.ToolEnd:
			fmt.Println("→", e.Part.Text)
		}
	}
	fmt.Println(result.Output)
	fmt.Println(len(result.Messages), "messages")
	// Output:
	// forecast on weather: {"city":"Oslo"}
	// → Sunny in Oslo.
	// Take sunglasses.
	// 4 messages
}

func ExampleOptions_answer() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "forecast", `{}`)), says("Take sunglasses."))

	toolset := must(adapter.Open(ctx, []adapter.Server{{Name: "weather", Transport: weather()}}, nil))
	defer toolset.Close()
	a := must(agent.New(model, &agent.Options{
		Tools: []adapter.Source{toolset},
		Person: agent.Person{Reply: func(_ context.Context, q *run.Question) (run.Reply, error) {
			fmt.Printf("%s asks: %s\n", q.Server, q.Elicit.Message)
			return q.Accept(map[string]any{"city": "Rome"}) // or q.Decline(), for example
		}},
	}))
	result := must(a.Run(ctx, agent.Text("What do I need today?")))
	fmt.Println(result.Messages[2].Parts[0].Text)
	fmt.Println(result.Output)
	// Output:
	// weather asks: Which city?
	// Sunny in Rome.
	// Take sunglasses.
}

// loud is a model of the program's own.
type loud struct{}

func (loud) Info() model.Info { return model.Info{Provider: "acme", Name: "loud", Window: 8192} }

func (loud) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		text := strings.ToUpper(r.Messages[len(r.Messages)-1].Text())
		if r.Stream && !yield(model.Delta{Text: text}, nil) {
			return
		}
		yield(model.Delta{Response: &model.Response{Message: run.Text(run.RoleAssistant, text), Finish: model.FinishStop}}, nil)
	}
}

// A model of one's own describes itself, and gives the pieces of a reply and the whole. Failures are a model.Error: the
// kind says whether the agent asks again.
func ExampleModel() {
	ctx := context.Background()
	a := must(agent.New(loud{}, nil))
	result := must(a.Run(ctx, agent.Text("Hello.")))
	fmt.Println(result.Output, result.Messages[1].Model)
	// Output: HELLO. loud
}

// A rule allows some calls, and has a person asked about the others.
func ExampleAskPerson_rule() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "pay", `{"number":17}`), toolCall("2", "remind", `{"number":18}`)))
	remind := adapter.Func("remind", "Reminds of a bill.", func(context.Context, struct {
		Number int `json:"number"`
	}) (string, error) {
		return "ok", nil
	}, nil)

	a := must(agent.New(model, &agent.Options{
		Tools: []adapter.Source{payment(), remind},
		Person: agent.Person{Approve: func(ctx context.Context, call *approval.Request) (approval.Decision, error) {
			if call.Name == "pay" { // call.Server and call.Arguments tell more
				return agent.AskPerson(ctx, call)
			}
			return approval.Decision{Allow: true}, nil // a Reason of a denial is for the model
		}},
	}))
	result := must(a.Run(ctx, agent.Text("Pay bill 17, and remind me of bill 18.")))
	fmt.Println(result.Status, len(result.Questions), result.Questions[0].Tool)
	// Output: waiting 1 pay
}

// booking runs a server of revision 2025-11-25 in this process, whose tool asks how many
// people come.
func booking() mcpclient.Transport {
	const form = `{"type":"object","properties":{
		"people":{"type":"integer","title":"People","minimum":1},
		"seat":{"type":"string","title":"Seat","enum":["inside","outside"],"default":"inside"}},"required":["people"]}`
	return agenttest.NewServer(agenttest.Tool{Name: "book", Run: func(ctx context.Context, c *agenttest.Call) (string, error) {
		r, err := c.Elicit(ctx, "How many people?", form)
		if err != nil || r.Action != "accept" {
			return "Not booked.", err
		}
		return fmt.Sprintf("Booked for %v, %v.", r.Content["people"], r.Content["seat"]), nil
	}})
}

// A person fills in a form, and is asked again after a typing mistake.
func ExampleQuestion_accept() {
	ctx := context.Background()
	model := play(uses(toolCall("1", "book", `{}`)), says("See you."))
	typed := []string{"fore", "4", ""}
	ask := func(text string) (line string, ok bool) {
		line, typed = typed[0], typed[1:]
		fmt.Printf("%s %q\n", text, line)
		return line, true
	}

	fillIn := func(_ context.Context, q *run.Question) (run.Reply, error) {
		fields, err := forms.Fields(q.Elicit)
		if err != nil {
			return run.Reply{}, err
		}
		content := map[string]any{}
		for _, field := range fields {
			line, ok := ask(field.Title + ":") // of your program
			value, err := field.Parse(line)    // "" is the default
			for ok && err != nil {
				line, ok = ask(err.Error() + ":") // says what the field wants
				value, err = field.Parse(line)
			}
			if !ok { // the person has left
				return q.Decline(), nil
			}
			if value != nil {
				content[field.Name] = value
			}
		}
		return q.Accept(content)
	}

	toolset := must(adapter.Open(ctx, []adapter.Server{{Name: "luigi", Transport: booking()}}, nil))
	defer toolset.Close()
	a := must(agent.New(model, &agent.Options{Tools: []adapter.Source{toolset}, Person: agent.Person{Reply: fillIn}}))
	result := must(a.Run(ctx, agent.Text("Book a table.")))
	fmt.Println(result.Messages[2].Parts[0].Text)
	// Output:
	// People: "fore"
	// field "people": want a whole number, at least 1: "4"
	// Seat: ""
	// Booked for 4, inside.
}
