package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// mortal is a server that can be dialed again when its last connection has ended.
type mortal struct {
	last mcpclient.Conn
}

func (m *mortal) Dial(ctx context.Context) (conn mcpclient.Conn, err error) {
	m.last, err = exampleServer().Dial(ctx)
	return m.last, err
}

func ExampleRestart() {
	ctx := context.Background()
	server := new(mortal) // for example an mcpclient.Command
	events := make(chan string, 2)
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{
		Restart: &mcpclient.Restart{
			First: time.Millisecond,
			Notify: func(attempt int, err error) {
				if err == nil {
					events <- "up again"
				} else {
					events <- fmt.Sprint("attempt ", attempt)
				}
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	server.last.Close() // it dies
	fmt.Println(<-events)
	fmt.Println(<-events)
	result, err := client.CallTool(ctx, "forecast", nil)
	if errors.Is(err, mcpclient.ErrConnectionLost) {
		log.Fatal("it was under way when the connection ended: ", err)
	}
	fmt.Println(result.Text(), err)
	// Output:
	// attempt 1
	// up again
	// Sunny, 21 degrees <nil>
}

func ExampleEraCache() {
	eras := new(mcpclient.EraCache)
	if data, err := os.ReadFile("eras.json"); err == nil {
		if err := json.Unmarshal(data, eras); err != nil {
			log.Print(err) // then every server is asked again
		}
	}
	client, err := mcpclient.Connect(context.Background(), &mcpclient.Command{Path: "weather-server"}, &mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: eras}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	data, err := json.Marshal(eras)
	if err == nil {
		err = os.WriteFile("eras.json", data, 0o600)
	}
	if err != nil {
		log.Print(err)
	}
}
