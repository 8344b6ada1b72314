-- +goose Up
-- The same changes as in ../mysql, whose comments hold here too. Applied in one transaction.

ALTER TABLE tb_seckill_voucher ADD COLUMN offer_within INT NOT NULL DEFAULT 0;
ALTER TABLE tb_seckill_voucher ADD COLUMN offered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tb_voucher_operation ADD COLUMN offered BIGINT NOT NULL DEFAULT 0;

CREATE TABLE tb_waiting_list (
    voucher_id    BIGINT  NOT NULL,
    last_position BIGINT  NOT NULL,
    open          BOOLEAN NOT NULL,
    PRIMARY KEY (voucher_id)
);
CREATE INDEX idx_waiting_open ON tb_waiting_list (open);

CREATE TABLE tb_place (
    voucher_id  BIGINT   NOT NULL,
    position    BIGINT   NOT NULL,
    user_id     BIGINT   NOT NULL,
    state       TINYINT  NOT NULL,
    create_time DATETIME NOT NULL,
    offer_time  DATETIME NULL,
    deadline    DATETIME NULL,
    attempt     TINYINT  NOT NULL DEFAULT 0,
    order_id    BIGINT   NULL,
    operation   BIGINT   NULL,
    end_time    DATETIME NULL,
    open        TINYINT GENERATED ALWAYS AS (CASE WHEN state IN (1, 2, 3) THEN 1 ELSE NULL END) STORED,
    PRIMARY KEY (voucher_id, position)
);
CREATE UNIQUE INDEX uk_place_open ON tb_place (user_id, voucher_id, open);
CREATE INDEX idx_place_turn ON tb_place (voucher_id, state, position);
CREATE INDEX idx_place_deadline ON tb_place (voucher_id, state, deadline);
