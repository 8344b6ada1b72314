// Package compose checks docker-compose.yml and deploy/cluster/compose.yml as the compose library reads them, without a
// container engine: the services, their rights, the published ports, and that no secret has a default. It also checks
// the files that the stack uses (the entry's nginx.conf, the dashboard, the alerts, and the .env written by `make
// env`), the documents with everything that they name and link to, and the workflows.
//
// It cannot check that the images start with these settings; `make up` waits until they are healthy.
package compose
