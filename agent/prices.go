package agent

import "github.com/mcpchain/mcpchain/internal/price"

// Prices is a table of prices: its Date, the day when they were looked up, and a [Price] for each of
// its Models. Date is required, such as "2026-11-22": [New] refuses a table with prices and without a day. It is the
// type of package sampling: share one table.
type Prices = price.Table

// Price is what a million tokens of a model cost, in millionths of a currency's unit:
//
//	{Model: "gpt-5-mini*", Currency: "USD", Input: 250_000, Cached: 25_000, CacheWrite: 250_000, Output: 2_000_000, Reasoning: 2_000_000}
//
// Cached and CacheWrite are by default as Input, Reasoning as Output. In the name of the model * stands for any text.
type Price = price.Price

// UnpricedError says that [run.Limits].Cost cannot hold: the Model is not named, has no price in the table
// of Date, or has a price in a Currency that is not limited. [New] returns it if the options have
// Prices or the model is not named, and a run before the first call of the model.
type UnpricedError = price.UnpricedError
