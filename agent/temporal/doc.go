// Package temporal drives runs of agents with Temporal, on any number of machines.
//
// A workflow drives a run, but its code does not replay the run. One activity is one step of the
// run ([agent.Agent.Advance]) in a store that all workers share. Steps are safe to repeat, because
// the store knows which tool calls were sent. The history of a workflow has only the status of the
// run and the ids of its questions: it stays small, contains no output of a model, and remains valid
// when prompts, tools and code change:
//
//	workflow Run(tenant, id, agent)
//	   activity Step ─▶ running: the next step
//	                 ─▶ waiting: until an Update "answer", a Signal "wake", or the expiry of a question
//	                 ─▶ done, failed, cancelled: the end of the workflow
//
// Workers ([Work]) have the agents and execute the steps. A [Client] starts runs, answers
// their questions, waits for their results and cancels them:
//
//	err := temporal.Work(ctx, service, []*agent.Agent{helper}, nil) // until ctx ends
//
// In any process:
//
//	c := temporal.NewClient(service, store, nil)
//	key, err := c.Start(ctx, helper, agent.Text("What is on my calendar?"))
//	…
//	result, err := c.Result(ctx, key)
//
// Do not use [agent.Recover] with the same store. Both would drive its runs; that does no harm, but
// workers would wait for each other's leases.
//
// The guide is docs/scaling.md of the repository.
//
// # When a worker ends
//
// A step holds the lease of its run, and sends heartbeats to Temporal. If a worker dies, another one
// repeats the step after [agent.Durable.LeaseTTL] and about a second: the heartbeat timeout is two
// fifths of the lease. A worker that is told to stop lets its steps finish for
// [WorkerOptions.Grace], and then leaves them to other workers, which continue immediately. The
// cancellation of a run ends the context of its tool calls.
//
// # Sub-agents
//
// The run of a sub-agent is part of its parent's run ([agent.NewSubAgent]), not a child workflow:
// they share one lease, one commit and one account, and no crash can separate them. A step of the
// parent advances its sub-agents.
//
// # Schedules
//
// [Client.ScheduleAction] returns the action of a Temporal schedule, which begins a run each time.
//
// # Secrets
//
// Replies to questions pass through the history of the workflow. Everything else is in the store,
// which [record.Sealed] encrypts. If replies are confidential, give the Temporal client a data
// converter that encrypts payloads.
package temporal
