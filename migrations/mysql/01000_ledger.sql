-- +goose Up
-- The ledger, for MySQL 8.4 and MariaDB 10.11 alike.
--
-- Each statement may be repeated: DDL commits by itself, so a process that dies half way leaves some of these tables
-- behind, and the next start executes the file again. Times are UTC with milliseconds, money is in cents, and there are
-- no foreign keys: a failed order must be recordable whatever it names.

-- The format of what this installation stores, in the ledger and in Redis, and the ledger's own id. The row comes first:
-- a migration that died half way is known by it. The format is migrations.Format.
CREATE TABLE IF NOT EXISTS tb_format (
    id     TINYINT     NOT NULL,
    format VARCHAR(32) NOT NULL,
    ledger VARCHAR(32) NOT NULL COMMENT 'random; the partitions in Redis carry it, so that those of another ledger are refused',
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO tb_format (id, format, ledger) VALUES (1, '1', LOWER(HEX(RANDOM_BYTES(8))));

-- What is sold. The price never changes after the insert.
CREATE TABLE IF NOT EXISTS tb_voucher (
    id           BIGINT        NOT NULL AUTO_INCREMENT,
    shop_id      BIGINT        NOT NULL,
    title        VARCHAR(255)  NOT NULL,
    sub_title    VARCHAR(255)  NOT NULL DEFAULT '',
    rules        VARCHAR(1024) NOT NULL DEFAULT '',
    pay_value    BIGINT        NOT NULL COMMENT 'what the buyer pays, cents',
    actual_value BIGINT        NOT NULL COMMENT 'what it is worth, cents',
    type         TINYINT       NOT NULL COMMENT '0 ordinary, 1 seckill',
    status       TINYINT       NOT NULL COMMENT '1 on the shelf, 2 off, 3 expired',
    version      BIGINT        NOT NULL COMMENT 'raised by every change',
    create_time  DATETIME(3)   NOT NULL,
    update_time  DATETIME(3)   NOT NULL,
    pay_within   BIGINT        NOT NULL DEFAULT 900 COMMENT 'how long an order may stay unpaid, seconds',
    redeemable   BOOLEAN       NOT NULL DEFAULT FALSE COMMENT 'paid orders have a code',
    valid_until  DATETIME(3)   NULL COMMENT 'of their coupons, exclusive',
    valid_days   BIGINT        NOT NULL DEFAULT 0 COMMENT 'after the payment; 0: valid_until, or for ever',
    per_user     TINYINT       NOT NULL DEFAULT 0 COMMENT 'units that a user may have; 0: one in a sale, any number of an ordinary voucher',
    guards       VARCHAR(2048) NOT NULL DEFAULT '' COMMENT 'JSON: the guards of its sale; empty: none',
    visible_from DATETIME(3)   NULL COMMENT 'before then for admins only; NULL: always visible',
    archived     DATETIME(3)   NULL COMMENT 'when it was archived; NULL: it is not',
    PRIMARY KEY (id),
    KEY idx_voucher_shop (shop_id, status, archived),
    -- Which ids are still hidden is asked several times a second while somebody tries ids.
    KEY idx_voucher_visible (visible_from),
    CONSTRAINT ck_voucher_value CHECK (pay_value >= 0 AND actual_value >= 0),
    CONSTRAINT ck_voucher_type CHECK (type IN (0, 1)),
    CONSTRAINT ck_voucher_status CHECK (status IN (1, 2, 3))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The sale of a seckill voucher: the hot row. Every change of stock names the
-- epoch that it was decided in.
CREATE TABLE IF NOT EXISTS tb_seckill_voucher (
    voucher_id     BIGINT      NOT NULL,
    stock          BIGINT      NOT NULL COMMENT 'units that no live order holds',
    issued         BIGINT      NOT NULL COMMENT 'units in all: stock + live orders',
    begin_time     DATETIME(3) NOT NULL,
    end_time       DATETIME(3) NOT NULL COMMENT 'exclusive',
    paused         BOOLEAN     NOT NULL DEFAULT FALSE COMMENT 'by an admin',
    epoch          BIGINT      NOT NULL DEFAULT 0 COMMENT 'raised by every rebuild in Redis; 0 before the first',
    first_epoch    BIGINT      NOT NULL DEFAULT 0 COMMENT 'the first rebuild''s; orders of an earlier one are of another voucher, which had the id and is lost',
    sequence       BIGINT      NOT NULL DEFAULT 0 COMMENT 'highest admission of the epoch that was recorded',
    partition_no   INT         NOT NULL DEFAULT 0 COMMENT 'which stream its orders go to; never computed again',
    retired        BOOLEAN     NOT NULL DEFAULT FALSE COMMENT 'over and drained: Redis no longer holds it',
    last_operation BIGINT      NOT NULL DEFAULT 0 COMMENT 'number of the last row in tb_voucher_operation',
    invite_window  INT         NOT NULL DEFAULT 0 COMMENT 'seconds for which an invitation stands; 0: no waiting list',
    list_open      BOOLEAN     NOT NULL DEFAULT FALSE COMMENT 'units that come back are kept',
    kept           BIGINT      NOT NULL DEFAULT 0 COMMENT 'units kept for those who wait: issued = stock + kept + live orders',
    accepted       BIGINT      NOT NULL DEFAULT 0 COMMENT 'of these, units of acceptances that Redis has not decided',
    called_off     DATETIME(3) NULL COMMENT 'when it was called off, once and for good; NULL: it was not',
    PRIMARY KEY (voucher_id),
    KEY idx_seckill_retired (retired),
    CONSTRAINT ck_seckill_stock CHECK (stock >= 0),
    CONSTRAINT ck_seckill_kept CHECK (kept >= accepted AND accepted >= 0),
    CONSTRAINT ck_seckill_window CHECK (end_time > begin_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Orders. The id comes from idworker, never from here; a failed order's id is the fence against its late insert.
CREATE TABLE IF NOT EXISTS tb_voucher_order (
    id             BIGINT       NOT NULL,
    user_id        BIGINT       NOT NULL,
    voucher_id     BIGINT       NOT NULL,
    kind           TINYINT      NOT NULL COMMENT 'as tb_voucher.type',
    amount         BIGINT       NOT NULL COMMENT 'cents, copied from the voucher',
    pay_type       TINYINT      NOT NULL DEFAULT 0 COMMENT '0 not paid yet',
    status         TINYINT      NOT NULL COMMENT '1 unpaid, 2 paid, 3 redeemed, 4 cancelled, 5 refunding, 6 refunded, 7 failed, 8 lapsed',
    reason         VARCHAR(32)  NOT NULL DEFAULT '' COMMENT 'why it failed, for programs',
    detail         VARCHAR(512) NOT NULL DEFAULT '' COMMENT 'why it failed, for people',
    create_time    DATETIME(3)  NOT NULL COMMENT 'when it was recorded',
    pay_time       DATETIME(3)  NULL,
    redeem_time    DATETIME(3)  NULL,
    cancel_time    DATETIME(3)  NULL,
    refunding_time DATETIME(3)  NULL,
    refund_time    DATETIME(3)  NULL,
    fail_time      DATETIME(3)  NULL,
    -- 1 while the order is its user's one live order in the sale, else NULL, which a unique key ignores. Stored, not
    -- virtual: unique keys on virtual columns have a history of bugs in both servers.
    live           TINYINT GENERATED ALWAYS AS (CASE WHEN kind = 1 AND status IN (1, 2, 3, 5, 8) THEN 1 ELSE NULL END) STORED,
    pay_deadline   DATETIME(3)  NULL COMMENT 'an unpaid order is closed then',
    lapse_time     DATETIME(3)  NULL,
    quantity       TINYINT      NOT NULL DEFAULT 1 COMMENT 'units',
    revision       INT          NOT NULL DEFAULT 0 COMMENT 'numbers of its events that its times do not count: what staff did',
    PRIMARY KEY (id),
    UNIQUE KEY uk_order_live (user_id, voucher_id, live),
    KEY idx_order_voucher (voucher_id), -- lists of a voucher's orders by id, too: it ends with the primary key
    -- For the expirer. New rows go to the end of the unpaid ones, so that the page is in memory already.
    KEY idx_order_due (status, pay_deadline),
    CONSTRAINT ck_order_kind CHECK (kind IN (0, 1)),
    CONSTRAINT ck_order_state CHECK (status BETWEEN 1 AND 8)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What changes a sale after its creation: written in the transaction that does so, then applied to Redis, in order and
-- once.
CREATE TABLE IF NOT EXISTS tb_voucher_operation (
    voucher_id      BIGINT      NOT NULL,
    number          BIGINT      NOT NULL COMMENT 'from 1, without gaps, for each voucher',
    kind            VARCHAR(16) NOT NULL COMMENT 'cancel, expire, refund, revive, stock, accept, release, pause, resume, shelf, window, call_off',
    delta           BIGINT      NOT NULL COMMENT 'units that go on sale; negative ones are to be taken',
    order_id        BIGINT      NULL,
    user_id         BIGINT      NULL COMMENT 'whose order it is',
    mode            TINYINT     NOT NULL DEFAULT 0 COMMENT 'of the sale from now on: 0 as before, 1 open, 2 paused, 3 off the shelf, 5 called off',
    begin_time      DATETIME(3) NULL COMMENT 'of the sale from now on; NULL: as before',
    end_time        DATETIME(3) NULL,
    actor           VARCHAR(32) NOT NULL COMMENT 'who did it',
    idempotency_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of the request that asked for it',
    state           TINYINT     NOT NULL COMMENT '1 pending, 2 applied to Redis, 3 absorbed by a rebuild, 4 refused, 5 void',
    create_time     DATETIME(3) NOT NULL,
    settle_time     DATETIME(3) NULL COMMENT 'when it ceased to be pending',
    kept            BIGINT      NOT NULL DEFAULT 0 COMMENT 'units that are kept instead of going on sale; negative: that were kept until then',
    epoch           BIGINT      NOT NULL DEFAULT 0 COMMENT 'of the sale when it made a holder in Redis',
    sequence        BIGINT      NOT NULL DEFAULT 0 COMMENT 'to which it then raised the sale; 0: it made none',
    PRIMARY KEY (voucher_id, number),
    UNIQUE KEY uk_operation_request (voucher_id, idempotency_key),
    KEY idx_operation_state (state, voucher_id, number),
    CONSTRAINT ck_operation_state CHECK (state BETWEEN 1 AND 5)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The history of orders since they were recorded, one row for each event.
CREATE TABLE IF NOT EXISTS tb_order_event (
    id          BIGINT       NOT NULL AUTO_INCREMENT,
    order_id    BIGINT       NOT NULL,
    status      TINYINT      NOT NULL COMMENT 'of the order from then on',
    actor       VARCHAR(32)  NOT NULL COMMENT 'who did it',
    why         VARCHAR(255) NOT NULL DEFAULT '' COMMENT 'a code, and after a space its data',
    create_time DATETIME(3)  NOT NULL,
    PRIMARY KEY (id),
    KEY idx_event_order (order_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Attempts to pay. Every change of one is made under the lock of its order's row.
CREATE TABLE IF NOT EXISTS tb_payment (
    number         BIGINT      NOT NULL AUTO_INCREMENT COMMENT 'where a page of a list begins',
    id             VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'the provider knows it by this',
    order_id       BIGINT      NOT NULL,
    user_id        BIGINT      NOT NULL,
    voucher_id     BIGINT      NOT NULL,
    shop_id        BIGINT      NOT NULL COMMENT 'the voucher''s',
    amount         BIGINT      NOT NULL COMMENT 'cents, the order''s',
    state          TINYINT     NOT NULL COMMENT '1 open, 2 received, 3 late, 4 refunding, 5 refunded, 6 stuck, 7 closed',
    operation      BIGINT      NULL COMMENT 'number of the revival that decides about a late one',
    create_time    DATETIME(3) NOT NULL,
    receive_time   DATETIME(3) NULL COMMENT 'when the provider said that it has the money',
    accept_time    DATETIME(3) NULL COMMENT 'when the order was paid with it',
    refunding_time DATETIME(3) NULL COMMENT 'since when the money is to go back',
    refund_time    DATETIME(3) NULL COMMENT 'when all of the money had gone back',
    stuck_time     DATETIME(3) NULL COMMENT 'since when the provider refuses for good to send the money back',
    refusal        VARCHAR(255) NOT NULL DEFAULT '' COMMENT 'why, in the provider''s words',
    close_time     DATETIME(3) NULL COMMENT 'when staff closed its refund',
    return_time    DATETIME(3) NULL COMMENT 'when money went back last, as a refund or by a dispute',
    gone_before    BIGINT      NOT NULL DEFAULT 0 COMMENT 'cents that had gone back before that day, by SECKILL_TIMEZONE',
    returned       BIGINT      NOT NULL DEFAULT 0 COMMENT 'cents that have gone back as refunds, in all',
    dispute        TINYINT     NOT NULL DEFAULT 0 COMMENT '0 none, 1 open, 2 won, 3 lost',
    disputed       BIGINT      NOT NULL DEFAULT 0 COMMENT 'cents that the dispute is about; gone back, too, once it is lost',
    dispute_time   DATETIME(3) NULL COMMENT 'when the dispute came to its state',
    provider       VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'empty: of a version that knew one provider only, or nothing to pay',
    reference      VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'the provider''s own id of it',
    PRIMARY KEY (number),
    UNIQUE KEY uk_payment_id (id),
    KEY idx_payment_order (order_id),
    KEY idx_payment_reference (reference),
    KEY idx_payment_received (receive_time),
    KEY idx_payment_returned (return_time),
    -- Lists and exports are sorted by time, and read one entry of an index for each payment.
    KEY idx_payment_time (create_time, number),
    KEY idx_payment_shop (shop_id, create_time, number),
    KEY idx_payment_voucher (voucher_id, create_time, number),
    KEY idx_payment_state (state, create_time, number),
    KEY idx_payment_dispute (dispute, create_time, number),
    CONSTRAINT ck_payment_state CHECK (state BETWEEN 1 AND 7),
    CONSTRAINT ck_payment_stuck CHECK (state <> 6 OR stuck_time IS NOT NULL),
    CONSTRAINT ck_payment_closed CHECK (state <> 7 OR close_time IS NOT NULL),
    CONSTRAINT ck_payment_dispute CHECK (dispute BETWEEN 0 AND 3)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Requests that came with an Idempotency-Key and made something: a row is inserted first in the transaction that does so.
CREATE TABLE IF NOT EXISTS tb_request (
    caller      BIGINT       NOT NULL COMMENT 'user id',
    request_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    route       VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'method and path',
    body_digest BINARY(32)   NOT NULL COMMENT 'SHA-256 of the canonical body',
    made        VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'id of what it made',
    create_time DATETIME(3)  NOT NULL,
    PRIMARY KEY (caller, request_key),
    KEY idx_request_time (create_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The highest token that was used for each job that one instance at a time does.
CREATE TABLE IF NOT EXISTS tb_fence (
    name  VARCHAR(64) NOT NULL,
    token BIGINT      NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What all instances must agree on: the key that hides order counts.
CREATE TABLE IF NOT EXISTS tb_setting (
    name        VARCHAR(64)    NOT NULL,
    value       VARBINARY(255) NOT NULL,
    create_time DATETIME(3)    NOT NULL,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who changed what: one row for each change of an admin's, written in the transaction of the change.
CREATE TABLE IF NOT EXISTS tb_audit (
    id          BIGINT      NOT NULL AUTO_INCREMENT,
    voucher_id  BIGINT      NOT NULL DEFAULT 0 COMMENT '0: it concerns no voucher',
    admin_id    BIGINT      NOT NULL COMMENT 'user id; 0: the service itself',
    request_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'of the request, as in the log',
    shop_id     BIGINT      NOT NULL DEFAULT 0 COMMENT 'whose merchants read it; 0: admins only',
    action      VARCHAR(16) NOT NULL COMMENT 'create, change, pause, resume, stock, replay, discard',
    changes     TEXT        NOT NULL COMMENT 'JSON: which fields, from what, to what',
    delta       BIGINT      NOT NULL DEFAULT 0 COMMENT 'of stock: units added; negative ones were to be taken',
    operation   BIGINT      NOT NULL DEFAULT 0 COMMENT 'of stock: number in tb_voucher_operation, which tells what became of it',
    create_time DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    KEY idx_audit_voucher (voucher_id),
    KEY idx_audit_admin (admin_id),
    KEY idx_audit_shop (shop_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The coupon of a paid order. Every change of one is made under the lock of its order's row; code and order never change.
CREATE TABLE IF NOT EXISTS tb_coupon (
    order_id         BIGINT       NOT NULL,
    code             CHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    voucher_id       BIGINT       NOT NULL,
    shop_id          BIGINT       NOT NULL,
    valid_until      DATETIME(3)  NULL COMMENT 'exclusive; NULL: for ever',
    due_time         DATETIME(3)  NULL COMMENT 'when the lapser looks at it; NULL: never again',
    reservation      VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'id of the last one, unless it was ended',
    reserved_by      BIGINT       NULL COMMENT 'till',
    reserve_key      VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of the request',
    reserved_until   DATETIME(3)  NULL COMMENT 'exclusive',
    ended_requests   VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'digests of requests whose reservations are over',
    redeemed_by      BIGINT       NULL COMMENT 'till',
    redeem_key       VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'of the request',
    create_time      DATETIME(3)  NOT NULL,
    PRIMARY KEY (order_id),
    UNIQUE KEY uk_coupon_code (code),
    KEY idx_coupon_due (due_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How one process answered the requests for a sale during a minute. It is written anew every few seconds while something is
-- asked; a higher number of requests is the newer state.
CREATE TABLE IF NOT EXISTS tb_sale_minute (
    voucher_id BIGINT        NOT NULL,
    start_time DATETIME(3)   NOT NULL COMMENT 'a whole minute, by the process''s clock',
    run        BIGINT        NOT NULL COMMENT 'random number of the process',
    asked      BIGINT        NOT NULL COMMENT 'requests in all',
    totals     VARCHAR(1024) NOT NULL COMMENT 'JSON: answer to requests',
    seconds    TEXT          NOT NULL COMMENT 'JSON: answer to second of the minute to requests',
    PRIMARY KEY (voucher_id, start_time, run)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Locked by those who join, so that positions are in the order of their commits.
CREATE TABLE IF NOT EXISTS tb_waiting_list (
    voucher_id     BIGINT      NOT NULL,
    last_position  BIGINT      NOT NULL,
    open           BOOLEAN     NOT NULL COMMENT 'as tb_seckill_voucher.list_open',
    invited        BIGINT      NOT NULL DEFAULT 0 COMMENT 'places that are invited',
    paused_at      DATETIME(3) NULL COMMENT 'since when no window runs',
    last_operation BIGINT      NOT NULL DEFAULT 0 COMMENT 'up to which pauses are known here',
    PRIMARY KEY (voucher_id),
    KEY idx_waiting_open (open)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A place on it. Rows are never deleted.
CREATE TABLE IF NOT EXISTS tb_place (
    voucher_id  BIGINT      NOT NULL,
    position    BIGINT      NOT NULL COMMENT 'from 1, in the order of joining',
    user_id     BIGINT      NOT NULL,
    state       TINYINT     NOT NULL COMMENT '1 waiting, 2 invited, 3 accepted, 4 bought, 5 left, 6 declined, 7 missed, 8 refused, 9 over',
    standing    BOOLEAN     NOT NULL DEFAULT FALSE COMMENT 'its user has said yes for whenever it is their turn',
    claimed     BOOLEAN     NOT NULL DEFAULT FALSE COMMENT 'its user has once said so, and the unit counts for the share of their address',
    missed      TINYINT     NOT NULL DEFAULT 0 COMMENT 'invitations that it has missed',
    turns       INT         NOT NULL DEFAULT 0 COMMENT 'how often something has happened to it since its turn came',
    create_time DATETIME(3) NOT NULL,
    invite_time DATETIME(3) NULL COMMENT 'of its last invitation',
    deadline    DATETIME(3) NULL COMMENT 'until when that may be accepted, exclusive',
    order_id    BIGINT      NULL COMMENT 'that accepting it makes',
    operation   BIGINT      NULL COMMENT 'which asks Redis to make its user a holder',
    end_time    DATETIME(3) NULL,
    -- 1 while it is its user's one open place, else NULL, which a unique key ignores.
    open        TINYINT GENERATED ALWAYS AS (CASE WHEN state IN (1, 2, 3) THEN 1 ELSE NULL END) STORED,
    PRIMARY KEY (voucher_id, position),
    UNIQUE KEY uk_place_open (user_id, voucher_id, open),
    KEY idx_place_turn (voucher_id, state, missed, position),
    KEY idx_place_deadline (voucher_id, state, deadline)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Whose orders expired unpaid in sales with a cool-down. A user without one within a week has no row, or an old one that is
-- deleted when others are counted.
CREATE TABLE IF NOT EXISTS tb_unpaid (
    user_id   BIGINT      NOT NULL PRIMARY KEY,
    expired   BIGINT      NOT NULL COMMENT 'orders, each within a week of the one before',
    last_time DATETIME(3) NOT NULL COMMENT 'when the last of them expired',
    number    BIGINT      NOT NULL COMMENT 'of the transaction that wrote the row last, in the order of commits',
    KEY idx_number (number, user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Webhooks: who is told of changes of orders, and how far each endpoint has got.
CREATE TABLE IF NOT EXISTS tb_webhook_endpoint (
    id               BIGINT        NOT NULL AUTO_INCREMENT,
    shop_id          BIGINT        NOT NULL COMMENT '0: all shops',
    url              VARCHAR(2048) NOT NULL,
    description      VARCHAR(255)  NOT NULL DEFAULT '',
    types            VARCHAR(512)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'comma-separated; empty: all',
    secret           VARCHAR(128)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    old_secret       VARCHAR(128)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    old_secret_until DATETIME(3)   NULL COMMENT 'the old secret signs too until then',
    disabled_time    DATETIME(3)   NULL,
    disabled_why     VARCHAR(32)   NOT NULL DEFAULT '' COMMENT 'a code',
    next_number      BIGINT        NOT NULL COMMENT 'the first number that was not looked at',
    replay_next      BIGINT        NOT NULL DEFAULT 0 COMMENT 'numbers from here …',
    replay_end       BIGINT        NOT NULL DEFAULT 0 COMMENT '… to here, exclusive, are sent again',
    failures         BIGINT        NOT NULL DEFAULT 0 COMMENT 'attempts that failed since the last success',
    failing_since    DATETIME(3)   NULL,
    retry_time       DATETIME(3)   NULL COMMENT 'nothing is sent before then',
    success_time     DATETIME(3)   NULL COMMENT 'of the last success',
    last_failure     VARCHAR(2048) NOT NULL DEFAULT '' COMMENT 'JSON: code and data',
    lease_owner      VARCHAR(64)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'the process that sends',
    lease_until      DATETIME(3)   NULL,
    create_time      DATETIME(3)   NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What happened to orders, places and sales. Rows are written by the transactions that change these, and numbered afterwards in the order of
-- their commits: the id is given before the commit, and a reader that goes by it skips what commits late.
CREATE TABLE IF NOT EXISTS tb_webhook_event (
    id             BIGINT      NOT NULL AUTO_INCREMENT,
    number         BIGINT      NULL COMMENT 'NULL: not numbered yet',
    shop_id        BIGINT      NOT NULL,
    subject        VARCHAR(48) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'order-<id>, place-<voucher>-<place> or sale-<voucher>',
    subject_number BIGINT      NOT NULL COMMENT 'of the event among its subject''s, rising',
    type           VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    body           TEXT        NOT NULL COMMENT 'JSON, as it is sent',
    create_time    DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_webhook_event_number (number),
    KEY idx_webhook_event_shop (shop_id, number),
    KEY idx_webhook_event_subject (subject, number),
    KEY idx_webhook_event_time (create_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The last number that was given; its row is the lock of the one who numbers.
CREATE TABLE IF NOT EXISTS tb_webhook_sequence (
    id     TINYINT NOT NULL,
    number BIGINT  NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;
INSERT IGNORE INTO tb_webhook_sequence (id, number) VALUES (1, 0);

-- Subjects whose events an endpoint has not taken yet, though it has got past them: from a number on.
CREATE TABLE IF NOT EXISTS tb_webhook_retry (
    endpoint_id BIGINT       NOT NULL,
    subject     VARCHAR(48)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    number      BIGINT       NOT NULL COMMENT 'of the first event that is still to be sent',
    attempts    BIGINT       NOT NULL COMMENT 'to send that event',
    due_time    DATETIME(3)  NOT NULL,
    failure     VARCHAR(2048) NOT NULL COMMENT 'JSON: code and data, of the last attempt',
    PRIMARY KEY (endpoint_id, subject),
    KEY idx_webhook_retry_due (endpoint_id, due_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Events that an endpoint was not given, in spite of all attempts.
CREATE TABLE IF NOT EXISTS tb_webhook_dead_letter (
    endpoint_id BIGINT       NOT NULL,
    number      BIGINT       NOT NULL,
    attempts    BIGINT       NOT NULL,
    failure     VARCHAR(2048) NOT NULL,
    create_time DATETIME(3)  NOT NULL,
    PRIMARY KEY (endpoint_id, number),
    KEY idx_webhook_dead_letter_number (number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Who has bought an ordinary voucher with a limit (per_user): the row is written by each purchase, which so waits for the one
-- before it. It counts nothing; the orders do.
CREATE TABLE IF NOT EXISTS tb_limited_buyer (
    voucher_id BIGINT NOT NULL,
    user_id    BIGINT NOT NULL,
    writes     BIGINT NOT NULL COMMENT 'what makes each purchase change the row',
    PRIMARY KEY (voucher_id, user_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What new vouchers of a shop are made from.
CREATE TABLE IF NOT EXISTS tb_voucher_template (
    id          BIGINT      NOT NULL AUTO_INCREMENT,
    shop_id     BIGINT      NOT NULL,
    name        VARCHAR(64) NOT NULL,
    fields      TEXT        NOT NULL COMMENT 'of a voucher without its moments, as JSON',
    create_time DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_template_name (shop_id, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Identity providers whose users have signed in. None is removed: an account's id tells its issuer's number.
CREATE TABLE IF NOT EXISTS tb_issuer (
    number      BIGINT         NOT NULL,
    issuer      VARBINARY(255) NOT NULL COMMENT 'bytes: text would take two that differ in a trailing space for one',
    create_time DATETIME(3)    NOT NULL,
    PRIMARY KEY (number),
    UNIQUE KEY uk_issuer (issuer)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which user a provider's user is.
CREATE TABLE IF NOT EXISTS tb_account (
    id          BIGINT         NOT NULL COMMENT 'from 2^52 to below 8*10^15',
    issuer      BIGINT         NOT NULL COMMENT 'number in tb_issuer',
    subject     VARBINARY(255) NOT NULL,
    create_time DATETIME(3)    NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_account_subject (issuer, subject)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Users whose tokens are void that were signed in up to a time: one who signed out, or those of an issuer.
CREATE TABLE IF NOT EXISTS tb_session_void (
    first_user  BIGINT      NOT NULL,
    last_user   BIGINT      NOT NULL,
    before_time DATETIME(3) NOT NULL,
    write_time  DATETIME(3) NOT NULL,
    PRIMARY KEY (first_user, last_user),
    KEY idx_session_void_write (write_time, first_user)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What rehearsals have measured, which is kept when their sales are gone.
CREATE TABLE IF NOT EXISTS tb_rehearsal (
    voucher_id  BIGINT      NOT NULL COMMENT 'of the rehearsal, which is removed soon',
    of_voucher  BIGINT      NOT NULL COMMENT 'whose sale it rehearses',
    admin_id    BIGINT      NOT NULL COMMENT 'who started it; 0: the command',
    issued      BIGINT      NOT NULL,
    begin_time  DATETIME(3) NOT NULL,
    end_time    DATETIME(3) NOT NULL COMMENT 'at the latest',
    report_time DATETIME(3) NULL COMMENT 'when its crowd reported last',
    done        BOOLEAN     NOT NULL COMMENT '1: the crowd is through, and the figures are final',
    figures     TEXT        NOT NULL COMMENT 'that the crowd has reported, as JSON; empty before',
    PRIMARY KEY (voucher_id),
    KEY idx_rehearsal_of (of_voucher, voucher_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

