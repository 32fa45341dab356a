package tryout

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addPlainTools adds the tools that ask nothing.
func addPlainTools(s *sdk.Server) {
	sdk.AddTool(s, readOnly("add", "Add two numbers", "Adds two numbers."), add)
	sdk.AddTool(s, readOnly("multiply", "Multiply two numbers", "Multiplies two numbers."), multiply)
	sdk.AddTool(s, readOnly("weather", "Weather", "Tells the weather in a city. The cities are "+strings.Join(cities(), ", ")+"."), weather)
	sdk.AddTool(s, readOnly("count", "Count", "Counts up to a number, slowly, and reports its progress."), count)
	sdk.AddTool(s, readOnly("picture", "A picture", "Paints a small picture of a sunset."), picture)
}

type operands struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type number struct {
	Value float64 `json:"value" jsonschema:"the result"`
}

func add(_ context.Context, _ *sdk.CallToolRequest, in operands) (*sdk.CallToolResult, number, error) {
	sum := in.A + in.B
	return text(fmt.Sprintf("%v + %v = %v", in.A, in.B, sum)), number{sum}, nil
}

func multiply(_ context.Context, _ *sdk.CallToolRequest, in operands) (*sdk.CallToolResult, number, error) {
	product := in.A * in.B
	return text(fmt.Sprintf("%v × %v = %v", in.A, in.B, product)), number{product}, nil
}

// forecasts maps cities to their weather, which is the same every day.
var forecasts = map[string]forecast{
	"Berlin":  {"Berlin", 18, "light rain"},
	"Lima":    {"Lima", 21, "cloudy"},
	"Lisbon":  {"Lisbon", 26, "sunny"},
	"Nairobi": {"Nairobi", 23, "partly cloudy"},
	"Oslo":    {"Oslo", 12, "windy"},
	"Tokyo":   {"Tokyo", 24, "clear"},
}

type forecast struct {
	City    string `json:"city"`
	Celsius int    `json:"celsius"`
	Sky     string `json:"sky"`
}

type place struct {
	City string `json:"city" jsonschema:"the name of the city"`
}

func cities() []string { return slices.Sorted(maps.Keys(forecasts)) }

func weather(_ context.Context, _ *sdk.CallToolRequest, in place) (*sdk.CallToolResult, *forecast, error) {
	for name, f := range forecasts {
		if strings.EqualFold(name, strings.TrimSpace(in.City)) {
			return text(fmt.Sprintf("%s: %d °C, %s", f.City, f.Celsius, f.Sky)), &f, nil
		}
	}
	return nil, nil, fmt.Errorf("no weather for %.40q; try one of %s", in.City, strings.Join(cities(), ", "))
}

// step is the time of count for one number.
const step = 50 * time.Millisecond

type goal struct {
	To int `json:"to" jsonschema:"the last number, from 1 to 1000"`
}

func count(ctx context.Context, req *sdk.CallToolRequest, in goal) (*sdk.CallToolResult, any, error) {
	if in.To < 1 || in.To > 1000 {
		return nil, nil, fmt.Errorf("cannot count to %d; choose a number from 1 to 1000", in.To)
	}
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for n := 1; n <= in.To; n++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		token := req.Params.GetProgressToken()
		if token == nil {
			continue
		}
		if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(n), Total: float64(in.To), Message: fmt.Sprintf("counted to %d", n),
		}); err != nil {
			return nil, nil, err
		}
	}
	return text(fmt.Sprintf("counted to %d", in.To)), nil, nil
}

// picture paints a sun that sets behind the sea.
func picture(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
	const width, height, horizon, radius = 96, 64, 44, 15
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			dx, dy := x-width/2, y-horizon
			c := color.RGBA{255, uint8(80 + 3*y), uint8(120 - 2*y), 255}
			switch {
			case y >= horizon:
				c = color.RGBA{20, uint8(60 + y/2), 140, 255}
			case dx*dx+dy*dy < radius*radius:
				c = color.RGBA{255, 230, 120, 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, nil, err
	}
	return &sdk.CallToolResult{Content: []sdk.Content{
		&sdk.TextContent{Text: "a sunset over the sea"},
		&sdk.ImageContent{Data: b.Bytes(), MIMEType: "image/png"},
	}}, nil, nil
}
