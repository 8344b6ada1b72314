// Package compose checks docker-compose.yml as the compose library reads it, without a container engine: which
// services there are, what they may do, what is published, and that no secret has a default; and beside it what the
// stack is given: the entry's nginx.conf, the dashboard, the alerts, and the .env that `make env` writes.
//
// What it cannot see is whether the images start with what they are given; `make up` waits until they are healthy.
package compose
