package browsertest_test

import (
	"context"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// saver has a view that saves when it is torn down, and takes its time if it is stubborn.
func saver(stubborn bool) *sdk.Server {
	answer := `parent.postMessage({ jsonrpc: "2.0", id: m.id, result: { saved: true } }, "*")`
	if stubborn {
		answer = ""
	}
	document := `<!doctype html><title>saver</title><p id="saver">A drawing.</p><script>
		const send = (m) => parent.postMessage({ jsonrpc: "2.0", ...m }, "*");
		addEventListener("message", ({ data: m }) => {
			if (m.id === 1 && m.result) { send({ method: "ui/notifications/initialized" }); document.querySelector("#saver").textContent = "ready"; }
			if (m.method === "ui/resource-teardown") { ` + answer + ` }
		});
		send({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "saver", version: "1" }, appCapabilities: {} } });
	</script>`
	s := sdk.NewServer(&sdk.Implementation{Name: "saver", Version: "1"}, nil)
	s.AddResource(&sdk.Resource{URI: "ui://saver/x", Name: "x", MIMEType: "text/html;profile=mcp-app"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "ui://saver/x", MIMEType: "text/html;profile=mcp-app", Text: document}}}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "draw", Description: "Draws.", Meta: sdk.Meta{"ui": map[string]any{"resourceUri": "ui://saver/x"}}},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "drawn"}}}, nil, nil
		})
	return s
}

// TestSwitchWithView goes to another conversation while a view is open, and asks in the same moment: the question is the
// new conversation's. The view hears that it ends, and its page is not waited for.
func TestSwitchWithView(t *testing.T) {
	t.Parallel()
	for name, stubborn := range map[string]bool{"saves": false, "stubborn": true} {
		t.Run(name, func(t *testing.T) {
			p := start(t, serving(t, "saver", saver(stubborn))...)
			ada := visit(t, p, "Ada")
			ada.ask("call draw {}")
			ada.click(".card button", "Allow")
			ada.see(".reply .prose", "drawn")
			inView[bool](ada, "document.querySelector('#saver')?.textContent === 'ready'", "true")
			eval[bool](ada, "(window.heard = [], addEventListener('message', (e) => heard.push(JSON.stringify(e.data))), true)")
			eval[bool](ada, `(() => {
				document.querySelector("#new").click();
				document.querySelector("#question").value = "a private question";
				document.querySelector("#composer").requestSubmit();
				return true;
			})()`)
			ada.await("document.querySelectorAll('#list li').length === 2")
			ada.await("[...document.querySelectorAll('.said')].map(n => n.querySelector('.bubble').innerText).join() === 'a private question'")
			ada.see("#title", "a private question")
			ada.shoot("question in the new conversation")
			if !stubborn {
				ada.await(`heard.some(m => m.includes('"saved":true'))`)
			}
			ada.await("document.querySelector('iframe') === null")
			ada.click("#list a", "call draw")
			ada.see(".reply .prose", "drawn")
			if n := eval[int](ada, "document.querySelectorAll('.said').length"); n != 1 {
				t.Errorf("got %d questions in the old conversation, want its own alone", n)
			}
			inView[bool](ada, "document.querySelector('#saver')?.textContent === 'ready'", "true") // it is shown again
		})
	}
}
