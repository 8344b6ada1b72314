-- +goose Up
-- Lists by a state: without these indexes they read all orders of the voucher or of the service, or all payments of
-- the shop or voucher.

-- The one index more that a purchase pays for. Lists of a shop, or of all shops, merge those of the vouchers in it.
ALTER TABLE tb_voucher_order
    ADD INDEX idx_order_state (status, voucher_id, id),
    ALGORITHM = INPLACE, LOCK = NONE;

ALTER TABLE tb_payment
    ADD INDEX idx_payment_shop_state (shop_id, state, create_time, number),
    ALGORITHM = INPLACE, LOCK = NONE;

ALTER TABLE tb_payment
    ADD INDEX idx_payment_shop_dispute (shop_id, dispute, create_time, number),
    ALGORITHM = INPLACE, LOCK = NONE;

ALTER TABLE tb_payment
    ADD INDEX idx_payment_voucher_state (voucher_id, state, create_time, number),
    ALGORITHM = INPLACE, LOCK = NONE;
