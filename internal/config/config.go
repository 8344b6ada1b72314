package config

import (
	"crypto/x509"
	"log/slog"
	"time"
)

// Config holds every setting of the service, by subject. A Config that [Load] returned without an error is valid.
//
// [Load] and [Table] read the tags: env is the variable, envDefault its default, shown replaces the default in the
// table, unit describes the value, oneof or min and max (both inclusive) restrict it, and effect says what it does. A
// field's comment adds facts that do not fit into the table.
type Config struct {
	HTTP    HTTP
	Stores  Stores
	Redis   Redis
	MySQL   MySQL
	JWT     JWT
	Session Session
	Guards  Guards
	Orders  Orders
	Payment Payment
	Webhook Webhook
	Keep    Keep
	Journal Journal

	Merchants Merchants
	Server    Server
	Log       Log
}

// HTTP is how the service is reached.
type HTTP struct {
	// Addr may have port 0: any free one. In the embedded mode the default is loopback only, because demo buyers are
	// made for everybody who reaches it.
	Addr string `env:"SECKILL_HTTP_ADDR" shown:":8080; in the embedded mode 127.0.0.1:8080" unit:"host:port" effect:"where buyers, admins and frontends connect"`

	// OpsAddr is empty if there is no operations listener. The public must never reach it: metrics and profiles need no
	// token.
	OpsAddr string `env:"SECKILL_OPS_ADDR" envDefault:"127.0.0.1:8081" unit:"host:port, or off" effect:"where metrics, profiles and health are served; off, or set to nothing: nowhere"`

	// OpsHosts are compared with the Host header. Otherwise a web page could point its own host name at this machine
	// and read from the listener through a browser here. IP addresses need no entry: a page cannot do that with an
	// address.
	OpsHosts []string `env:"SECKILL_OPS_HOSTS" unit:"host names, comma-separated, or *" effect:"names, besides localhost and IP addresses, by which SECKILL_OPS_ADDR answers and the embedded mode makes buyers; *: every name"`

	BodyLimit int64 `env:"SECKILL_BODY_LIMIT" envDefault:"65536" unit:"bytes" min:"1024" max:"16777216" effect:"longest request body; a longer one is answered TOO_LARGE"`

	MaxWait time.Duration `env:"SECKILL_MAX_WAIT" envDefault:"30s" unit:"duration" min:"1s" max:"5m" effect:"longest time that ?wait= waits for an order to be recorded"`

	// MaxInFlight does not count health checks and event streams. Package internal/kit/bulkhead shares it among classes
	// of callers. While more than half of it is in use, ?wait= has no effect.
	MaxInFlight int `env:"SECKILL_MAX_IN_FLIGHT" envDefault:"20000" unit:"requests" min:"10" max:"10000000" effect:"requests that this instance works on at once; above, callers are answered UNAVAILABLE, public reads first, admins last; above half of it ?wait= waits no longer"`

	// MaxConnections depends on the limit of open files. In Linux containers that is usually a million, for which they
	// have far too little memory.
	MaxConnections int `env:"SECKILL_MAX_CONNECTIONS" shown:"the limit of open files, less 420 and the pools of connections to the stores (500 in all)" unit:"connections, 10 or more" effect:"connections that may be open at SECKILL_HTTP_ADDR (some 30 KB of memory each); one more is answered UNAVAILABLE and closed"`

	// UserRate does not apply to admins. Addresses are not limited here: frontends come through few of them.
	UserRate int `env:"SECKILL_USER_RATE" envDefault:"10" unit:"requests a second" min:"0" max:"1000000" effect:"how often a user may ask each instance in the long run; 0: no limit"`

	UserBurst int `env:"SECKILL_USER_BURST" envDefault:"30" unit:"requests" min:"1" max:"100000" effect:"how many requests a user may make at once before SECKILL_USER_RATE applies"`

	MaxStreams int `env:"SECKILL_MAX_STREAMS" envDefault:"20000" unit:"event streams" min:"1" max:"1000000" effect:"event streams that may be open at this instance (some 36 KB of memory each)"`

	UserStreams int `env:"SECKILL_USER_STREAMS" envDefault:"10" unit:"event streams" min:"1" max:"100000" effect:"how many of them one user may have"`

	// TrustedProxies is empty by default: the address of a caller is then the peer's, whatever its headers say.
	TrustedProxies []string `env:"SECKILL_TRUSTED_PROXIES" unit:"addresses or networks, comma-separated" effect:"proxies whose X-Forwarded-For is believed"`

	// Pages are static files; they use no store. Without them the embedded mode hands out no demo buyers.
	Pages bool `env:"SECKILL_PAGES" envDefault:"true" unit:"true or false" effect:"show pages to browsers; in the embedded mode the buyers' makes buyers for trying out"`

	// PublicURL matters below a path, and behind a proxy that does not say that its callers came by https. The service
	// answers below that path, and without it: proxies keep it or strip it.
	PublicURL string `env:"SECKILL_PUBLIC_URL" shown:"the root of the address that was asked for" unit:"address such as https://shop.example/flash" effect:"where people find the service: pages, links and the way back from paying are below it"`

	SiteName   string `env:"SECKILL_SITE_NAME" shown:"Seckill; in Chinese 秒杀" unit:"text of up to 40 characters" effect:"the shop's name on the pages"`
	SiteColour string `env:"SECKILL_SITE_COLOUR" shown:"a dark orange" unit:"#rrggbb" effect:"the colour of buttons and links on the pages, made darker or lighter until it can be read"`

	// PictureHosts learn the addresses of those who look at a page.
	PictureHosts []string `env:"SECKILL_PICTURE_HOSTS" unit:"host names, comma-separated" effect:"where pictures of shops and vouchers may be, by https: pages load them from there; without it no picture is taken"`

	CORSOrigins []string `env:"SECKILL_CORS_ORIGINS" unit:"origins, comma-separated, or *" effect:"pages of other origins that may call the service"`
}

// Stores selects the stores of the service. See also [Config.Embedded].
type Stores struct {
	// Embedded never is for images and servers: a forgotten setting then stops the start, instead of letting the
	// service sell from a store inside the process.
	Embedded string `env:"SECKILL_EMBEDDED" envDefault:"auto" oneof:"auto,never" effect:"auto: without Redis and MySQL settings the service runs on stores inside the process; never: it refuses to"`

	DataDir string `env:"SECKILL_DATA_DIR" envDefault:"./data" unit:"directory" effect:"where the embedded mode keeps orders and its secret; used by one process at a time"`

	// Wait is for supervisors that tell a living process from a ready one, as Kubernetes does.
	Wait bool `env:"SECKILL_WAIT_FOR_STORES" envDefault:"false" unit:"true or false" effect:"wait at the start while stores do not answer, and with SECKILL_MIGRATE=false for the tables: only /healthz says ok meanwhile; false: give up after 30 s"`

	Migrate bool `env:"SECKILL_MIGRATE" envDefault:"true" unit:"true or false" effect:"bring the tables up to date at the start; safe with several instances"`
}

// Redis is how Redis is reached.
type Redis struct {
	Mode string `env:"SECKILL_REDIS_MODE" envDefault:"single" oneof:"single,sentinel,cluster" effect:"what the addresses are: one server, the sentinels, or nodes of a cluster"`

	// Addrs has one address in the mode single, any number in the others, and none in the embedded mode.
	Addrs []string `env:"SECKILL_REDIS_ADDRS" unit:"host:port, comma-separated" effect:"where Redis is; with SECKILL_MYSQL_DSN it ends the embedded mode"`

	Master string `env:"SECKILL_REDIS_MASTER" unit:"name" effect:"the master that the sentinels watch; needed in the mode sentinel"`

	Username string `env:"SECKILL_REDIS_USERNAME" unit:"name" effect:"user of an access control list; without one, Redis's default user"`

	Password Secret `env:"SECKILL_REDIS_PASSWORD" unit:"text" effect:"password of the user; may be empty"`

	SentinelPassword Secret `env:"SECKILL_REDIS_SENTINEL_PASSWORD" unit:"text" effect:"password of the sentinels themselves, when they have one"`

	DB int `env:"SECKILL_REDIS_DB" envDefault:"0" unit:"number" min:"0" max:"1023" effect:"number of the database; a cluster has only 0"`

	// Prefix must not hold braces: they would take over the hash tags that keep a voucher's keys in one slot.
	Prefix string `env:"SECKILL_REDIS_PREFIX" unit:"text without braces and spaces" effect:"put before every key where services share a Redis; a change abandons what is waiting"`

	// PoolSize is at least 8: six classes of callers (internal/kit/bulkhead) have one connection each, and two are
	// shared.
	PoolSize int `env:"SECKILL_REDIS_POOL_SIZE" envDefault:"64" unit:"connections" min:"8" max:"10000" effect:"most connections to each Redis server, shared by all classes; blocking reads have theirs besides"`

	// Timeout also decides when an admission's outcome counts as unknown: with a shorter one, sooner and more often.
	Timeout time.Duration `env:"SECKILL_REDIS_TIMEOUT" envDefault:"2s" unit:"duration" min:"50ms" max:"1m" effect:"longest wait for an answer of Redis; for a connection at most 450 ms of it"`

	// Replicas costs every purchase a round trip from Redis to its replicas. There are none in the embedded mode.
	Replicas int `env:"SECKILL_REDIS_REPLICAS" envDefault:"0" unit:"replicas" min:"0" max:"16" effect:"how many replicas (in a cluster: of the sale's master) must have an order before its buyer is answered; with fewer the answer is UNKNOWN_OUTCOME"`

	ReplicaTimeout time.Duration `env:"SECKILL_REDIS_REPLICA_TIMEOUT" envDefault:"200ms" unit:"duration" min:"1ms" max:"500ms" effect:"longest wait for SECKILL_REDIS_REPLICAS; less than SECKILL_REDIS_TIMEOUT"`

	TLS bool `env:"SECKILL_REDIS_TLS" envDefault:"false" unit:"true or false" effect:"talk to Redis over TLS, and check its certificate"`

	// CAFile is a file with the authorities' certificates. CAs is its content, nil for the system's authorities.
	CAFile string         `env:"SECKILL_REDIS_CA_FILE" unit:"file with certificates in PEM" effect:"authorities of Redis's certificate instead of the system's; with SECKILL_REDIS_TLS"`
	CAs    *x509.CertPool `env:"-"`
}

// MySQL is how MySQL, or anything that speaks its protocol, is reached.
type MySQL struct {
	// DSN is empty in the embedded mode. Parameters that the service depends on (timeouts, UTC, parseTime) are added
	// when connections are opened.
	DSN DSN `env:"SECKILL_MYSQL_DSN" unit:"user:password@tcp(host:port)/database" effect:"where MySQL is; with SECKILL_REDIS_ADDRS it ends the embedded mode; clientFoundRows is refused"`

	// PoolSize is at least 8 for the same reason as Redis's.
	PoolSize int `env:"SECKILL_MYSQL_POOL_SIZE" envDefault:"16" unit:"connections" min:"8" max:"1000" effect:"most connections to MySQL, shared by all classes"`

	Timeout time.Duration `env:"SECKILL_MYSQL_TIMEOUT" envDefault:"10s" unit:"duration" min:"100ms" max:"5m" effect:"longest wait for an answer of MySQL; for a connection at most two seconds of it"`

	// CAFile is a file with the authorities' certificates. CAs is its content, nil for the system's authorities.
	CAFile string         `env:"SECKILL_MYSQL_CA_FILE" unit:"file with certificates in PEM" effect:"authorities of MySQL's certificate instead of the system's; connections use TLS"`
	CAs    *x509.CertPool `env:"-"`
}

// JWT says how callers are authenticated.
type JWT struct {
	// Secret may be missing only in the embedded mode, which generates one and keeps it in its data directory.
	Secret Secret `env:"SECKILL_JWT_SECRET" shown:"none; the embedded mode makes one" unit:"text, 32 bytes or more" effect:"key of the tokens' signatures (HS256); needed outside the embedded mode"`

	// PreviousSecret lets the secret be changed while its tokens are in use. If the issuer switches to the new secret
	// before all instances know it, set the new one here on every instance first.
	PreviousSecret Secret `env:"SECKILL_JWT_PREVIOUS_SECRET" unit:"text, 32 bytes or more" effect:"another valid key while SECKILL_JWT_SECRET is being changed"`

	// AdminSecret prevents a signer of buyers' tokens from making themselves an admin.
	AdminSecret Secret `env:"SECKILL_JWT_ADMIN_SECRET" unit:"text, 32 bytes or more" effect:"when set, key of all tokens but buyers', and SECKILL_JWT_SECRET of buyers' alone"`

	AdminPreviousSecret Secret `env:"SECKILL_JWT_ADMIN_PREVIOUS_SECRET" unit:"text, 32 bytes or more" effect:"another valid key while SECKILL_JWT_ADMIN_SECRET is being changed"`

	// Direct is false where only identity providers may give out the numbers of users.
	Direct bool `env:"SECKILL_JWT_DIRECT" envDefault:"true" unit:"true or false" effect:"take buyers' tokens that others have signed; false, as a numeric issuer needs it: buyers sign in by SECKILL_ISSUERS alone; not in the embedded mode"`

	Issuer string `env:"SECKILL_JWT_ISSUER" unit:"text" effect:"when set, tokens must have this iss"`

	Audience string `env:"SECKILL_JWT_AUDIENCE" unit:"text" effect:"when set, tokens must have this aud"`

	MaxLife time.Duration `env:"SECKILL_JWT_MAX_LIFE" envDefault:"0s" unit:"duration" min:"0s" max:"87600h" effect:"when above 0, buyers' tokens must have an iat, and an exp at most this long after it"`

	AdminMaxLife time.Duration `env:"SECKILL_JWT_ADMIN_MAX_LIFE" envDefault:"0s" unit:"duration" min:"0s" max:"87600h" effect:"the same for admins' and merchants' tokens"`
}

// Session is how users of identity providers sign in.
type Session struct {
	// Issuers is a file because an issuer has a dozen members. It is read at the start.
	Issuers string `env:"SECKILL_ISSUERS" unit:"path of a file" effect:"the identity providers whose users may sign in (docs/operations.md#identity-providers), the same on all instances"`

	// Life is long enough by default that no buyer has to renew a token in the minute in which a sale opens.
	Life time.Duration `env:"SECKILL_SESSION_LIFE" envDefault:"8h" unit:"duration" min:"1m" max:"24h" effect:"how long a buyer's token is valid that a provider's was exchanged for"`

	// Rate has a burst of ten seconds' worth. A shop whose own server signs its users in comes from one address.
	Rate int `env:"SECKILL_SESSION_RATE" envDefault:"100" unit:"sign-ins a second" min:"0" max:"1000000" effect:"how often one address may sign in at each instance in the long run; 0: no limit"`
}

// Guards holds the settings that the guards of all sales share. Each sale has its own guard settings.
type Guards struct {
	// Secret may be missing if no sale has tickets. In the embedded mode it is derived from the tokens' secret. All
	// instances must have the same one; to replace keys while sales run, rotate the salt (server guardkey).
	Secret Secret `env:"SECKILL_GUARD_SECRET" shown:"none; the embedded mode derives one" unit:"text, 32 bytes or more" effect:"secret of the keys of tickets and challenges, the same on all instances; without it no sale can have them"`
}

// Orders controls how purchases are accepted and recorded.
type Orders struct {
	MaxBacklog int64 `env:"SECKILL_MAX_BACKLOG" envDefault:"1000000" unit:"orders" min:"1" max:"1000000000" effect:"accepted orders that may wait for MySQL in each partition (some 300 bytes of Redis each); above, buyers are answered UNAVAILABLE"`

	// Partitions is at most 32: each costs an instance a blocking read, some goroutines and six heartbeats a second.
	Partitions int `env:"SECKILL_PARTITIONS" envDefault:"1" unit:"partitions" min:"1" max:"32" effect:"streams, each in a hash slot of its own, over which new sales are spread. A higher number adds what is missing; a lower one takes nothing away (server partition)"`

	RecordBatch int `env:"SECKILL_RECORD_BATCH" envDefault:"500" unit:"orders" min:"1" max:"1000" effect:"most orders in one transaction, besides up to 15 more of its last entry"`
}

// Payment is how orders are paid, and how fast unpaid ones expire.
type Payment struct {
	// Provider is who moves the money; after Load it is none or sandbox. The sandbox moves no money: it is for trying
	// out.
	Provider string `env:"SECKILL_PAYMENT_PROVIDER" envDefault:"auto" oneof:"auto,none,sandbox" effect:"who moves the money. none: orders cannot be paid; sandbox: nobody, but buyers can press a button; auto: the sandbox in the embedded mode, else none"`

	// Secret may be missing only in the embedded mode, which derives one from that of its tokens.
	Secret Secret `env:"SECKILL_PAYMENT_SECRET" unit:"text, 32 bytes or more" effect:"key of the provider's signatures; needed with a provider"`

	// Providers have names, by which payments stay with them. Each is a program of its own: package remotepay.
	Providers []string `env:"SECKILL_PAYMENT_PROVIDERS" unit:"name=URL, comma-separated" effect:"payment providers over HTTP (docs/coupons.md#a-provider-over-http); new payments begin with the first; with SECKILL_PAYMENT_PROVIDER none or sandbox no instance starts"`

	ProviderSecrets Secret `env:"SECKILL_PAYMENT_PROVIDER_SECRETS" unit:"name=whsec_…, for each; comma-separated, or in lines" effect:"secrets that the service shares with SECKILL_PAYMENT_PROVIDERS, for the signatures of both"`

	ProviderPrevious Secret `env:"SECKILL_PAYMENT_PROVIDER_PREVIOUS_SECRETS" unit:"name=whsec_…; comma-separated, or in lines" effect:"other valid secrets while those are being changed"`

	// ProviderAllow is not needed for addresses that Providers name themselves.
	ProviderAllow []string `env:"SECKILL_PAYMENT_PROVIDER_ALLOW" unit:"networks or addresses, comma-separated" effect:"where hosts of SECKILL_PAYMENT_PROVIDERS may be besides the public Internet, also by http"`

	// Required is for shops that must never sell unpaid because a setting is missing.
	Required bool `env:"SECKILL_REQUIRE_PROVIDER" envDefault:"false" unit:"true or false" effect:"refuse vouchers with a price while no payment provider is configured; else they are created with a warning"`

	// Currency cannot be changed once it is in the database: the stored amounts would change their value.
	Currency string `env:"SECKILL_CURRENCY" envDefault:"CNY" unit:"code of ISO 4217" effect:"the currency of all prices and payments; their amounts are whole numbers of its least unit: cents, yen, fils. The first start writes it into the database; a start with another one is refused"`

	// ReturnURL is for shops with pages of their own.
	ReturnURL string `env:"SECKILL_PAYMENT_RETURN_URL" unit:"URL" shown:"the order on this service's page" effect:"where buyers go on after paying at a provider; {orderId} in it stands for the order"`

	// CallbackURL is for an instance that cannot reach its own SECKILL_HTTP_ADDR.
	CallbackURL string `env:"SECKILL_PAYMENT_CALLBACK_URL" unit:"URL" shown:"POST /payment/callback of this instance" effect:"where the sandbox calls back"`

	CloseRate int `env:"SECKILL_CLOSE_RATE" envDefault:"2000" unit:"orders a second" min:"1" max:"1000000" effect:"most unpaid orders that expire each second after their payment deadline; more slows purchases"`
}

// Webhook is how changes of orders are sent to the endpoints that admins name.
type Webhook struct {
	// Allow is for receivers in private networks. Admins and merchants choose the addresses, so by default webhooks
	// reach only public ones. Merchants may use every network in Allow, too.
	Allow []string `env:"SECKILL_WEBHOOK_ALLOW" unit:"networks or addresses, comma-separated" effect:"where webhooks may go besides the public Internet, also by http"`

	// Keep bounds how long the events of a disabled endpoint are kept. Undelivered events of enabled endpoints are
	// always kept.
	Keep time.Duration `env:"SECKILL_WEBHOOK_KEEP" envDefault:"168h" unit:"duration" min:"1h" max:"2160h" effect:"how long events are kept after delivery, and for disabled endpoints"`

	// KeepAll is for programs that read events with a cursor. Give it to all instances: as long as one of them has it,
	// all write events of all shops. From the first such instance on, no version 1.0 starts on the database any more.
	KeepAll time.Duration `env:"SECKILL_EVENT_KEEP" envDefault:"0s" unit:"duration" min:"0s" max:"8784h" effect:"how long events are kept for GET /admin/event, if that is longer than for webhooks; they are then written for shops without an endpoint, too. 0: as webhooks keep them, for shops with an endpoint"`
}

// Keep is how long what is over is kept. By default nothing is deleted.
type Keep struct {
	// Orders counts from the end of a sale, and for ordinary vouchers from each order. What is owed stays.
	Orders time.Duration `env:"SECKILL_KEEP" envDefault:"0s" unit:"duration" min:"0s" max:"175200h" effect:"how long after its end the orders of a sale are kept, with their payments and histories, and how long those of ordinary vouchers; older ones are purged, figures stay (docs/operations.md#what-is-deleted); at least 24h; 0: for ever"`

	// Audit has a setting of its own: an audit may need entries from before the oldest order that is kept.
	Audit time.Duration `env:"SECKILL_AUDIT_KEEP" envDefault:"0s" unit:"duration" min:"0s" max:"175200h" effect:"how long entries of the audit trail are kept; at least 24h; 0: for ever"`
}

// Journal is what instances remember of refusals.
type Journal struct {
	// Users costs some 60 bytes of memory for each user. All sales of an instance together have room for four times as
	// many.
	Users int64 `env:"SECKILL_JOURNAL" envDefault:"200000" unit:"users" min:"0" max:"10000000" effect:"how many users' first refusals each instance remembers of a sale, and writes into the database after the rush, where they stay for 30 days (docs/guards.md#why-not-i); 0: none"`
}

// Merchants limits the sales, units and webhooks of each merchant's shop. Admins have no such limits.
type Merchants struct {
	// Sales also counts sales that have not begun.
	Sales int64 `env:"SECKILL_MERCHANT_SALES" envDefault:"100" unit:"sales" min:"0" max:"100000" effect:"sales that have not ended, for a merchant's shop; 0: any number"`

	Units int64 `env:"SECKILL_MERCHANT_UNITS" envDefault:"100000" unit:"units" min:"0" max:"1000000000" effect:"how many units a merchant's sale may ever issue; 0: as many as an admin's"`

	Webhooks int64 `env:"SECKILL_MERCHANT_WEBHOOKS" envDefault:"5" unit:"endpoints" min:"0" max:"1000" effect:"webhook endpoints of a merchant's shop, those that admins made included; 0: any number"`
}

// Server is the process itself.
type Server struct {
	// Instance need not be unique: where uniqueness matters, every process adds its own name.
	Instance string `env:"SECKILL_INSTANCE" shown:"the host name" unit:"name" effect:"what this instance is called in logs and among the stream's consumers"`

	// Timezone is a name of the IANA database. Load sets Location to that zone.
	Timezone string         `env:"SECKILL_TIMEZONE" envDefault:"UTC" unit:"name such as Asia/Shanghai" effect:"zone of times that are sent without one"`
	Location *time.Location `env:"-"`

	// DrainDelay is for load balancers that poll /readyz; those that notice a refused connection need no delay.
	DrainDelay time.Duration `env:"SECKILL_DRAIN_DELAY" envDefault:"0s" unit:"duration" min:"0s" max:"5m" effect:"how long to go on serving when stopped, with /readyz answering 503"`

	ShutdownTimeout time.Duration `env:"SECKILL_SHUTDOWN_TIMEOUT" envDefault:"20s" unit:"duration" min:"1s" max:"10m" effect:"longest time for finishing what is in flight when stopped"`
}

// Log controls the log.
type Log struct {
	Level slog.Level `env:"SECKILL_LOG_LEVEL" envDefault:"info" unit:"debug, info, warn or error" effect:"least severity that is logged"`

	Format string `env:"SECKILL_LOG_FORMAT" envDefault:"text" oneof:"text,json" effect:"how log lines look: for people, or for programs"`

	// Traces is off by default: what it costs is a log line for each request that callers want followed.
	Traces bool `env:"SECKILL_TRACES" envDefault:"false" unit:"true or false" effect:"follow requests whose traceparent is sampled, 100 a second: log lines have their trace_id, and webhooks a traceparent"`

	TraceURL string `env:"SECKILL_TRACE_URL" unit:"address with {order}" effect:"where the logs and traces of an order are shown: a link in the console, for admins"`
}

// Embedded reports whether the service is to run on stores of its own, inside the process.
func (c Config) Embedded() bool { return len(c.Redis.Addrs) == 0 && c.MySQL.DSN == "" }
