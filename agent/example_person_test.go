package agent_test

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

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
