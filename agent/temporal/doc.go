// Package temporal drives runs of agents by Temporal, on any number of machines.
//
// A workflow drives a run, and does not replay it. One activity is one step of the run
// ([agent.Agent.Advance]) in a store that all workers share, and a step is safe to repeat:
// the store knows which tool calls were sent. The history of a workflow has the status of the run
// and the ids of its questions, so that it stays small, has no output of a model, and continues with other
// prompts, tools and code:
//
//	workflow Run(tenant, id, agent)
//	   activity Step ─▶ running: the next step
//	                 ─▶ waiting: until an Update "answer", a Signal "wake", or the end of a question
//	                 ─▶ done, failed, cancelled: the end of the workflow
//
// Workers have the agents and take the steps, see [NewWorker]. A [Client] starts runs, answers
// their questions, waits for their results and cancels them:
//
//	w, err := temporal.NewWorker(service, []*agent.Agent{helper}, nil)
//	…
//	go w.Run(ctx)
//	c := temporal.NewClient(service, store, nil)
//	key, err := c.Start(ctx, helper, agent.Text("What is on my calendar?"))
//	…
//	result, err := c.Result(ctx, key)
//
// Do not use [agent.Recover] with the same store: both would drive its runs. That does no harm to
// the runs, but workers wait for each other's leases.
//
// The guide is docs/scaling.md of the repository.
//
// # Workers that end
//
// A step holds the lease of its run, and tells Temporal that it lives. If a worker dies, another one
// repeats the step after [agent.Durable.LeaseTTL] and about a second: the heartbeat timeout is two fifths of the
// lease. A worker that stops lets its steps finish for
// [WorkerOptions.Grace], and then leaves them to other workers, which go on at once. A run that is cancelled
// ends the context of its tool calls.
//
// # Sub-agents
//
// The run of a sub-agent is a part of its parent's run ([agent.Sub]), and no child workflow: one
// lease, one commit and one account hold for all of them, and no kill can come between a
// parent and its child. A step of the parent takes the sub-agents on with it.
//
// # Schedules
//
// [Client.Scheduled] is the action of a schedule of Temporal, which begins a run each time.
//
// # Secrets
//
// An answer to a question passes through the history of the workflow. Nothing else of a run is
// there: keep it sealed with [record.Sealed] in the store. If answers are
// confidential give the Temporal client a data converter that encrypts payloads.
package temporal
