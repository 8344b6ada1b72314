// Package compose checks docker-compose.yml and deploy/cluster/compose.yml as the compose library reads them, without
// a container engine: their services, their rights, the published ports, and that no secret has a default. It also
// checks the files that the stack uses: the entry's nginx.conf, the dashboard, the alerts, and the .env that
// `make env` writes. The documents, with what they name and link to, and the workflows are checked here too.
//
// It cannot check that the images start with these settings; `make up` waits until they are healthy.
package compose
