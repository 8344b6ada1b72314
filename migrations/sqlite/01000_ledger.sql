-- +goose Up
-- The ledger of the embedded mode: the same tables, columns and rules as in ../mysql, whose comments hold here too.
-- Applied in one transaction. Times are UTC text with milliseconds. SQLite ignores the widths of VARCHAR, so the
-- widths that matter are checks.

CREATE TABLE tb_format (
    id     INTEGER PRIMARY KEY,
    format VARCHAR(32) NOT NULL,
    ledger VARCHAR(32) NOT NULL
);
INSERT INTO tb_format (id, format, ledger) VALUES (1, '1', lower(hex(randomblob(8))));

CREATE TABLE tb_voucher (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    shop_id      BIGINT        NOT NULL,
    title        VARCHAR(255)  NOT NULL CHECK (length(title) <= 255),
    sub_title    VARCHAR(255)  NOT NULL DEFAULT '' CHECK (length(sub_title) <= 255),
    rules        VARCHAR(1024) NOT NULL DEFAULT '' CHECK (length(rules) <= 1024),
    pay_value    BIGINT        NOT NULL,
    actual_value BIGINT        NOT NULL,
    type         TINYINT       NOT NULL,
    status       TINYINT       NOT NULL,
    version      BIGINT        NOT NULL,
    create_time  DATETIME      NOT NULL,
    update_time  DATETIME      NOT NULL,
    pay_within   BIGINT        NOT NULL DEFAULT 900,
    redeemable   BOOLEAN       NOT NULL DEFAULT FALSE,
    valid_until  DATETIME      NULL,
    valid_days   BIGINT        NOT NULL DEFAULT 0,
    per_user     TINYINT       NOT NULL DEFAULT 0,
    guards       VARCHAR(2048) NOT NULL DEFAULT '',
    visible_from DATETIME      NULL,
    archived     DATETIME      NULL,
    CONSTRAINT ck_voucher_value CHECK (pay_value >= 0 AND actual_value >= 0),
    CONSTRAINT ck_voucher_type CHECK (type IN (0, 1)),
    CONSTRAINT ck_voucher_status CHECK (status IN (1, 2, 3))
);
CREATE INDEX idx_voucher_shop ON tb_voucher (shop_id, status, archived);
CREATE INDEX idx_voucher_visible ON tb_voucher (visible_from);

CREATE TABLE tb_seckill_voucher (
    voucher_id     INTEGER  NOT NULL,
    stock          BIGINT   NOT NULL,
    issued         BIGINT   NOT NULL,
    begin_time     DATETIME NOT NULL,
    end_time       DATETIME NOT NULL,
    paused         BOOLEAN  NOT NULL DEFAULT FALSE,
    epoch          BIGINT   NOT NULL DEFAULT 0,
    first_epoch    BIGINT   NOT NULL DEFAULT 0,
    sequence       BIGINT   NOT NULL DEFAULT 0,
    partition_no   INT      NOT NULL DEFAULT 0,
    retired        BOOLEAN  NOT NULL DEFAULT FALSE,
    last_operation BIGINT   NOT NULL DEFAULT 0,
    invite_window  INT      NOT NULL DEFAULT 0,
    list_open      BOOLEAN  NOT NULL DEFAULT FALSE,
    kept           BIGINT   NOT NULL DEFAULT 0,
    accepted       BIGINT   NOT NULL DEFAULT 0,
    called_off     DATETIME NULL,
    PRIMARY KEY (voucher_id),
    CONSTRAINT ck_seckill_stock CHECK (stock >= 0),
    CONSTRAINT ck_seckill_kept CHECK (kept >= accepted AND accepted >= 0),
    CONSTRAINT ck_seckill_window CHECK (end_time > begin_time)
) WITHOUT ROWID;
CREATE INDEX idx_seckill_retired ON tb_seckill_voucher (retired);

CREATE TABLE tb_voucher_order (
    id             INTEGER      PRIMARY KEY,
    user_id        BIGINT       NOT NULL,
    voucher_id     BIGINT       NOT NULL,
    kind           TINYINT      NOT NULL,
    amount         BIGINT       NOT NULL,
    pay_type       TINYINT      NOT NULL DEFAULT 0,
    status         TINYINT      NOT NULL,
    reason         VARCHAR(32)  NOT NULL DEFAULT '',
    detail         VARCHAR(512) NOT NULL DEFAULT '',
    create_time    DATETIME     NOT NULL,
    pay_time       DATETIME     NULL,
    redeem_time    DATETIME     NULL,
    cancel_time    DATETIME     NULL,
    refunding_time DATETIME     NULL,
    refund_time    DATETIME     NULL,
    fail_time      DATETIME     NULL,
    live           TINYINT GENERATED ALWAYS AS (CASE WHEN kind = 1 AND status IN (1, 2, 3, 5, 8) THEN 1 ELSE NULL END) STORED,
    pay_deadline   DATETIME     NULL,
    lapse_time     DATETIME     NULL,
    quantity       TINYINT      NOT NULL DEFAULT 1,
    revision       INTEGER      NOT NULL DEFAULT 0,
    CONSTRAINT ck_order_kind CHECK (kind IN (0, 1)),
    CONSTRAINT ck_order_state CHECK (status BETWEEN 1 AND 8)
);
CREATE UNIQUE INDEX uk_order_live ON tb_voucher_order (user_id, voucher_id, live);
CREATE INDEX idx_order_voucher ON tb_voucher_order (voucher_id);
CREATE INDEX idx_order_due ON tb_voucher_order (status, pay_deadline);

CREATE TABLE tb_voucher_operation (
    voucher_id      BIGINT       NOT NULL,
    number          BIGINT       NOT NULL,
    kind            VARCHAR(16)  NOT NULL,
    delta           BIGINT       NOT NULL,
    order_id        BIGINT       NULL,
    user_id         BIGINT       NULL,
    mode            TINYINT      NOT NULL DEFAULT 0,
    begin_time      DATETIME     NULL,
    end_time        DATETIME     NULL,
    actor           VARCHAR(32)  NOT NULL,
    idempotency_key VARCHAR(255) NULL,
    state           TINYINT      NOT NULL,
    create_time     DATETIME     NOT NULL,
    settle_time     DATETIME     NULL,
    kept            BIGINT       NOT NULL DEFAULT 0,
    epoch           BIGINT       NOT NULL DEFAULT 0,
    sequence        BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (voucher_id, number),
    CONSTRAINT ck_operation_state CHECK (state BETWEEN 1 AND 5)
) WITHOUT ROWID;
CREATE UNIQUE INDEX uk_operation_request ON tb_voucher_operation (voucher_id, idempotency_key);
CREATE INDEX idx_operation_state ON tb_voucher_operation (state, voucher_id, number);

CREATE TABLE tb_order_event (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id    BIGINT       NOT NULL,
    status      TINYINT      NOT NULL,
    actor       VARCHAR(32)  NOT NULL,
    why         VARCHAR(255) NOT NULL DEFAULT '',
    create_time DATETIME     NOT NULL
);
CREATE INDEX idx_event_order ON tb_order_event (order_id);

CREATE TABLE tb_payment (
    number         INTEGER PRIMARY KEY AUTOINCREMENT,
    id             VARCHAR(64) NOT NULL UNIQUE,
    order_id       BIGINT      NOT NULL,
    user_id        BIGINT      NOT NULL,
    voucher_id     BIGINT      NOT NULL,
    shop_id        BIGINT      NOT NULL,
    amount         BIGINT      NOT NULL,
    state          TINYINT     NOT NULL,
    operation      BIGINT      NULL,
    create_time    DATETIME    NOT NULL,
    receive_time   DATETIME    NULL,
    accept_time    DATETIME    NULL,
    refunding_time DATETIME    NULL,
    refund_time    DATETIME    NULL,
    stuck_time     DATETIME    NULL,
    refusal        VARCHAR(255) NOT NULL DEFAULT '',
    close_time     DATETIME    NULL,
    return_time    DATETIME    NULL,
    gone_before    BIGINT      NOT NULL DEFAULT 0,
    returned       BIGINT      NOT NULL DEFAULT 0,
    dispute        TINYINT     NOT NULL DEFAULT 0,
    disputed       BIGINT      NOT NULL DEFAULT 0,
    dispute_time   DATETIME    NULL,
    provider       VARCHAR(32)  NOT NULL DEFAULT '',
    reference      VARCHAR(128) NOT NULL DEFAULT '',
    CONSTRAINT ck_payment_state CHECK (state BETWEEN 1 AND 7),
    CONSTRAINT ck_payment_stuck CHECK (state <> 6 OR stuck_time IS NOT NULL),
    CONSTRAINT ck_payment_closed CHECK (state <> 7 OR close_time IS NOT NULL),
    CONSTRAINT ck_payment_dispute CHECK (dispute BETWEEN 0 AND 3)
);
CREATE INDEX idx_payment_order ON tb_payment (order_id);
CREATE INDEX idx_payment_reference ON tb_payment (reference);
CREATE INDEX idx_payment_received ON tb_payment (receive_time);
CREATE INDEX idx_payment_returned ON tb_payment (return_time);
CREATE INDEX idx_payment_time ON tb_payment (create_time, number);
CREATE INDEX idx_payment_shop ON tb_payment (shop_id, create_time, number);
CREATE INDEX idx_payment_voucher ON tb_payment (voucher_id, create_time, number);
CREATE INDEX idx_payment_state ON tb_payment (state, create_time, number);
CREATE INDEX idx_payment_dispute ON tb_payment (dispute, create_time, number);

CREATE TABLE tb_request (
    caller      BIGINT       NOT NULL,
    request_key VARCHAR(255) NOT NULL,
    route       VARCHAR(128) NOT NULL,
    body_digest BLOB         NOT NULL,
    made        VARCHAR(64)  NOT NULL,
    create_time DATETIME     NOT NULL,
    PRIMARY KEY (caller, request_key)
) WITHOUT ROWID;

CREATE INDEX idx_request_time ON tb_request (create_time);

CREATE TABLE tb_fence (
    name  VARCHAR(64) NOT NULL PRIMARY KEY,
    token BIGINT      NOT NULL
) WITHOUT ROWID;

CREATE TABLE tb_setting (
    name        VARCHAR(64) NOT NULL PRIMARY KEY,
    value       BLOB        NOT NULL,
    create_time DATETIME    NOT NULL
) WITHOUT ROWID;

CREATE TABLE tb_audit (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    voucher_id  BIGINT      NOT NULL DEFAULT 0,
    admin_id    BIGINT      NOT NULL,
    request_id  VARCHAR(64) NOT NULL,
    shop_id     BIGINT      NOT NULL DEFAULT 0,
    action      VARCHAR(16) NOT NULL,
    changes     TEXT        NOT NULL,
    delta       BIGINT      NOT NULL DEFAULT 0,
    operation   BIGINT      NOT NULL DEFAULT 0,
    create_time DATETIME    NOT NULL
);
CREATE INDEX idx_audit_voucher ON tb_audit (voucher_id);
CREATE INDEX idx_audit_admin ON tb_audit (admin_id);
CREATE INDEX idx_audit_shop ON tb_audit (shop_id);

CREATE TABLE tb_coupon (
    order_id       INTEGER      PRIMARY KEY,
    code           CHAR(16)     NOT NULL,
    voucher_id     BIGINT       NOT NULL,
    shop_id        BIGINT       NOT NULL,
    valid_until    DATETIME     NULL,
    due_time       DATETIME     NULL,
    reservation    VARCHAR(64)  NULL,
    reserved_by    BIGINT       NULL,
    reserve_key    VARCHAR(255) NULL,
    reserved_until DATETIME     NULL,
    ended_requests VARCHAR(512) NOT NULL DEFAULT '',
    redeemed_by    BIGINT       NULL,
    redeem_key     VARCHAR(255) NULL,
    create_time    DATETIME     NOT NULL
);
CREATE UNIQUE INDEX uk_coupon_code ON tb_coupon (code);
CREATE INDEX idx_coupon_due ON tb_coupon (due_time);

CREATE TABLE tb_sale_minute (
    voucher_id BIGINT        NOT NULL,
    start_time DATETIME      NOT NULL,
    run        BIGINT        NOT NULL,
    asked      BIGINT        NOT NULL,
    totals     VARCHAR(1024) NOT NULL,
    seconds    TEXT          NOT NULL,
    PRIMARY KEY (voucher_id, start_time, run)
);

CREATE TABLE tb_waiting_list (
    voucher_id     BIGINT   NOT NULL,
    last_position  BIGINT   NOT NULL,
    open           BOOLEAN  NOT NULL,
    invited        BIGINT   NOT NULL DEFAULT 0,
    paused_at      DATETIME NULL,
    last_operation BIGINT   NOT NULL DEFAULT 0,
    PRIMARY KEY (voucher_id)
);
CREATE INDEX idx_waiting_open ON tb_waiting_list (open);

CREATE TABLE tb_place (
    voucher_id  BIGINT   NOT NULL,
    position    BIGINT   NOT NULL,
    user_id     BIGINT   NOT NULL,
    state       TINYINT  NOT NULL,
    standing    BOOLEAN  NOT NULL DEFAULT FALSE,
    claimed     BOOLEAN  NOT NULL DEFAULT FALSE,
    missed      TINYINT  NOT NULL DEFAULT 0,
    turns       INT      NOT NULL DEFAULT 0,
    create_time DATETIME NOT NULL,
    invite_time DATETIME NULL,
    deadline    DATETIME NULL,
    order_id    BIGINT   NULL,
    operation   BIGINT   NULL,
    end_time    DATETIME NULL,
    open        TINYINT GENERATED ALWAYS AS (CASE WHEN state IN (1, 2, 3) THEN 1 ELSE NULL END) STORED,
    PRIMARY KEY (voucher_id, position)
);
CREATE UNIQUE INDEX uk_place_open ON tb_place (user_id, voucher_id, open);
CREATE INDEX idx_place_turn ON tb_place (voucher_id, state, missed, position);
CREATE INDEX idx_place_deadline ON tb_place (voucher_id, state, deadline);

CREATE TABLE tb_unpaid (
    user_id   BIGINT   NOT NULL PRIMARY KEY,
    expired   BIGINT   NOT NULL,
    last_time DATETIME NOT NULL,
    number    BIGINT   NOT NULL
);
CREATE INDEX idx_unpaid_number ON tb_unpaid (number, user_id);

CREATE TABLE tb_webhook_endpoint (
    id               INTEGER       PRIMARY KEY AUTOINCREMENT,
    shop_id          BIGINT        NOT NULL,
    url              VARCHAR(2048) NOT NULL,
    description      VARCHAR(255)  NOT NULL DEFAULT '',
    types            VARCHAR(512)  NOT NULL DEFAULT '',
    secret           VARCHAR(128)  NOT NULL,
    old_secret       VARCHAR(128)  NOT NULL DEFAULT '',
    old_secret_until DATETIME      NULL,
    disabled_time    DATETIME      NULL,
    disabled_why     VARCHAR(32)   NOT NULL DEFAULT '',
    next_number      BIGINT        NOT NULL,
    replay_next      BIGINT        NOT NULL DEFAULT 0,
    replay_end       BIGINT        NOT NULL DEFAULT 0,
    failures         BIGINT        NOT NULL DEFAULT 0,
    failing_since    DATETIME      NULL,
    retry_time       DATETIME      NULL,
    success_time     DATETIME      NULL,
    last_failure     VARCHAR(2048) NOT NULL DEFAULT '',
    lease_owner      VARCHAR(64)   NOT NULL DEFAULT '',
    lease_until      DATETIME      NULL,
    create_time      DATETIME      NOT NULL
);

CREATE TABLE tb_webhook_event (
    id             INTEGER     PRIMARY KEY AUTOINCREMENT,
    number         BIGINT      NULL,
    shop_id        BIGINT      NOT NULL,
    subject        VARCHAR(48) NOT NULL,
    subject_number BIGINT      NOT NULL,
    type           VARCHAR(32) NOT NULL,
    body           TEXT        NOT NULL,
    create_time    DATETIME    NOT NULL
);
CREATE UNIQUE INDEX uk_webhook_event_number ON tb_webhook_event (number);
CREATE INDEX idx_webhook_event_shop ON tb_webhook_event (shop_id, number);
CREATE INDEX idx_webhook_event_subject ON tb_webhook_event (subject, number);
CREATE INDEX idx_webhook_event_time ON tb_webhook_event (create_time);

CREATE TABLE tb_webhook_sequence (
    id     INTEGER PRIMARY KEY,
    number BIGINT  NOT NULL
);
INSERT INTO tb_webhook_sequence (id, number) VALUES (1, 0);

CREATE TABLE tb_webhook_retry (
    endpoint_id BIGINT       NOT NULL,
    subject     VARCHAR(48)  NOT NULL,
    number      BIGINT       NOT NULL,
    attempts    BIGINT       NOT NULL,
    due_time    DATETIME     NOT NULL,
    failure     VARCHAR(2048) NOT NULL,
    PRIMARY KEY (endpoint_id, subject)
);
CREATE INDEX idx_webhook_retry_due ON tb_webhook_retry (endpoint_id, due_time);

CREATE TABLE tb_webhook_dead_letter (
    endpoint_id BIGINT       NOT NULL,
    number      BIGINT       NOT NULL,
    attempts    BIGINT       NOT NULL,
    failure     VARCHAR(2048) NOT NULL,
    create_time DATETIME     NOT NULL,
    PRIMARY KEY (endpoint_id, number)
);
CREATE INDEX idx_webhook_dead_letter_number ON tb_webhook_dead_letter (number);

CREATE TABLE tb_limited_buyer (
    voucher_id BIGINT NOT NULL,
    user_id    BIGINT NOT NULL,
    writes     BIGINT NOT NULL,
    PRIMARY KEY (voucher_id, user_id)
);

CREATE TABLE tb_voucher_template (
    id          INTEGER     NOT NULL PRIMARY KEY AUTOINCREMENT,
    shop_id     BIGINT      NOT NULL,
    name        VARCHAR(64) NOT NULL,
    fields      TEXT        NOT NULL,
    create_time DATETIME    NOT NULL,
    UNIQUE (shop_id, name)
);

CREATE TABLE tb_issuer (
    number      BIGINT   NOT NULL PRIMARY KEY,
    issuer      BLOB     NOT NULL UNIQUE,
    create_time DATETIME NOT NULL
);

CREATE TABLE tb_account (
    id          BIGINT   NOT NULL PRIMARY KEY,
    issuer      BIGINT   NOT NULL,
    subject     BLOB     NOT NULL,
    create_time DATETIME NOT NULL,
    UNIQUE (issuer, subject)
);

CREATE TABLE tb_session_void (
    first_user  BIGINT   NOT NULL,
    last_user   BIGINT   NOT NULL,
    before_time DATETIME NOT NULL,
    write_time  DATETIME NOT NULL,
    PRIMARY KEY (first_user, last_user)
);
CREATE INDEX idx_session_void_write ON tb_session_void (write_time, first_user);

CREATE TABLE tb_rehearsal (
    voucher_id  BIGINT   NOT NULL PRIMARY KEY,
    of_voucher  BIGINT   NOT NULL,
    admin_id    BIGINT   NOT NULL,
    issued      BIGINT   NOT NULL,
    begin_time  DATETIME NOT NULL,
    end_time    DATETIME NOT NULL,
    report_time DATETIME NULL,
    done        BOOLEAN  NOT NULL,
    figures     TEXT     NOT NULL
);
CREATE INDEX idx_rehearsal_of ON tb_rehearsal (of_voucher, voucher_id);

