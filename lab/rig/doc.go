// Package rig has the tools of measurements: it builds programs, opens the stores, starts servers as child processes in
// namespaces of their own, sends purchases as new users, and reads memory, processor time and the machine's
// description. It contains no measurement and judges no figure.
//
// A measurement takes a namespace (an empty schema and a key prefix), starts a server in it, sends a burst of
// purchases, and reads the results:
//
//	stores, err := rig.OpenStores(ctx)
//	at, err := stores.NewNamespace(ctx)
//	server, err := rig.Service{Path: path}.Start(ctx, at, rig.Unlimited)
//	answers, err := rig.Burst{Users: users, Endpoints: []rig.Endpoint{server.Endpoint()}, …}.Send(ctx)
//
// The service's environment holds only what the rig sets: SECKILL_* settings of this process do not reach it.
package rig
