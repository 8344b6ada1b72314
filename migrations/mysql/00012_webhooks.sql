-- +goose Up
-- Webhooks: who is told of changes of orders, the events, and how far each endpoint has got. Every statement may be repeated
-- (see 00002).

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
    disabled_why     VARCHAR(255)  NOT NULL DEFAULT '',
    next_number      BIGINT        NOT NULL COMMENT 'the first number that was not looked at',
    replay_next      BIGINT        NOT NULL DEFAULT 0 COMMENT 'numbers from here …',
    replay_end       BIGINT        NOT NULL DEFAULT 0 COMMENT '… to here, exclusive, are sent again',
    failures         BIGINT        NOT NULL DEFAULT 0 COMMENT 'attempts that failed since the last success',
    failing_since    DATETIME(3)   NULL,
    retry_time       DATETIME(3)   NULL COMMENT 'nothing is sent before then',
    success_time     DATETIME(3)   NULL COMMENT 'of the last success',
    last_error       VARCHAR(512)  NOT NULL DEFAULT '',
    lease_owner      VARCHAR(64)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '' COMMENT 'the process that sends',
    lease_until      DATETIME(3)   NULL,
    create_time      DATETIME(3)   NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What happened to orders. Rows are written by the transactions that change the orders, and numbered afterwards in the order of
-- their commits: the id is given before the commit, and a reader that goes by it skips what commits late.
CREATE TABLE IF NOT EXISTS tb_webhook_event (
    id           BIGINT      NOT NULL AUTO_INCREMENT,
    number       BIGINT      NULL COMMENT 'NULL: not numbered yet',
    shop_id      BIGINT      NOT NULL,
    order_id     BIGINT      NOT NULL,
    order_number BIGINT      NOT NULL COMMENT 'of the event among its order''s, from 1',
    type         VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    body         TEXT        NOT NULL COMMENT 'JSON, as it is sent',
    create_time  DATETIME(3) NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY uk_webhook_event_number (number),
    KEY idx_webhook_event_shop (shop_id, number),
    KEY idx_webhook_event_order (order_id, number),
    KEY idx_webhook_event_time (create_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The last number that was given; its row is the lock of the one who numbers.
CREATE TABLE IF NOT EXISTS tb_webhook_sequence (
    id     TINYINT NOT NULL,
    number BIGINT  NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;
INSERT IGNORE INTO tb_webhook_sequence (id, number) VALUES (1, 0);

-- Orders whose events an endpoint has not taken yet, though it has got past them: from a number on.
CREATE TABLE IF NOT EXISTS tb_webhook_retry (
    endpoint_id BIGINT       NOT NULL,
    order_id    BIGINT       NOT NULL,
    number      BIGINT       NOT NULL COMMENT 'of the first event that is still to be sent',
    attempts    BIGINT       NOT NULL COMMENT 'to send that event',
    due_time    DATETIME(3)  NOT NULL,
    error       VARCHAR(512) NOT NULL COMMENT 'of the last attempt; empty: there was none',
    PRIMARY KEY (endpoint_id, order_id),
    KEY idx_webhook_retry_due (endpoint_id, due_time)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Events that an endpoint was not given, in spite of all attempts.
CREATE TABLE IF NOT EXISTS tb_webhook_dead_letter (
    endpoint_id BIGINT       NOT NULL,
    number      BIGINT       NOT NULL,
    attempts    BIGINT       NOT NULL,
    error       VARCHAR(512) NOT NULL,
    create_time DATETIME(3)  NOT NULL,
    PRIMARY KEY (endpoint_id, number),
    KEY idx_webhook_dead_letter_number (number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
