// Quickstart is a whole program with the servers of the mcp.json in this folder and the model of
// the environment. You ask a question, allow calls and fill in forms.
//
//	OPENAI_MODEL=gpt-5 go run ./examples/quickstart
//
// OPENAI_API_KEY is the key; OPENAI_BASE_URL names another provider than OpenAI.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpchain/mcpchain"
)

func main() {
	answer, err := mcpchain.Ask(context.Background(), "mcp.json", "", &mcpchain.Terminal{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}
