-- seckill.lua: the gate of sales: it accepts or refuses requests. It checks the window, the stock and one order per
-- user, and appends accepted orders to the stream, in one atomic step. A call has requests for one sale, or for
-- several, which are decided independently.
--
-- KEYS (one hash slot)
--   1  orders  stream  accepted orders without rows
--   then two for each of 1 to 64 sales:
--   1  sale    hash    its state; fields in internal/redisstore/README.md
--   2  buyers  hash    user id -> order id: the holders; with several units, order id ":" quantity
-- ARGV
--   for each sale in the same order:
--   1  voucher id
--   2  known epoch       the highest mark (epoch, sequence) that the caller has seen of this sale
--   3  known sequence
--   4  max backlog       requests are refused while so many orders are in the stream
--   5  how many requests follow, 1 to 256
--   6  quantities        how many units each of them asks for, 1 to 20, as "1 3 1"; "": one each
--   7  traces            the entry's field t: order id, traceparent of each order that is to be followed, separated by
--                        blanks; "": none is
--   8… user id, order id; one pair for each request. Ids are opaque text, never numbers: a Lua number is exact only
--      up to 2^53. The order id 0: the user may not buy, and only asks for an order that they have
--      (internal/feature/guard)
--
-- Returns the error READONLY if this server is not a master; otherwise an array with one element for each sale, in
-- order: a flat array as below, or the text of an error that concerns only this sale. It is text because some errors
-- inside an array make clients stop reading the array.
--   1  mode              "open", "paused", "off", "over" (called off) or "rebuild"; "" when there is no sale
--   2  epoch
--   3  sequence          after this call
--   4  stock             units left after this call, including returned and reserved ones that are not yet sellable
--   5  buyers            how many holders there are after this call
--   6  begin, 7 end      the window in milliseconds since 1970, the end exclusive
--   8  now               Redis's clock in milliseconds since 1970
--   9… one element for each request, in order: one of the codes below; or the text of the order that the user already
--      has, as in buyers (it stands for ALREADY_BOUGHT, which is never returned as a code); or a number below 0: minus
--      the units left, which are fewer than requested (it stands for NOT_ENOUGH)
--
-- An error about Redis's own state (OOM, READONLY, MISCONF, NOREPLICAS) means that nothing was written for any sale,
-- because Redis refuses a script's first write or none. XADD, which Redis refuses in all these states, comes first for
-- that reason.
--
-- Repeating the call accepts nothing twice: it answers ACCEPTED again for the same orders (rule 3,
-- docs/architecture.md). A refusal may be a different one by then.
--
-- Needs: clock, limits, number, returned, sale, server

-- The codes, in the order in which they are decided. internal/order/gate/outcome.go has the same numbers and names, and
-- their consequences.
local ACCEPTED = 0    -- its units were taken for this order id, now or by an earlier call
-- ALREADY_BOUGHT = 1: the user has another order. It is checked before mode, window and stock, so that a winner whose
--                    answer was lost gets the order, whatever has happened to the sale since
local NO_SALE = 2     -- no readable sale, e.g. a key has another type; for every request
local LOST_TAIL = 3   -- the sale is behind the known mark: this Redis has lost writes that it had acknowledged. Or another
--                    server opened it: this one was restarted or took over, and may have lost some. The sale is stopped
--                    (mode "rebuild"), unless Redis takes no writes; the caller asks for a rebuild of the epoch in this
--                    answer either way. For every request, as the holders may be out of date too
local REBUILDING = 4
local OFF_SHELF = 5
local PAUSED = 6      -- also, for a moment after some rebuilds, where a unit could be sold (begin_rebuild.lua says why)
local NOT_STARTED = 7
local ENDED = 8
local SOLD_OUT = 9    -- no sellable unit
local BACKLOGGED = 10 -- too many orders wait in the stream
-- NOT_ENOUGH = 11: there are sellable units, but fewer than requested. It is decided after PAUSED
local BARRED = 12     -- the user may not buy and holds no order; decided before mode, window and stock
local CALLED_OFF = 13 -- for good; decided before OFF_SHELF

local PACK_SHARE, MOST_PACKED = 512, 1000 -- orders are packed while fewer entries wait than max backlog / PACK_SHARE, and MOST_PACKED

local call, pcall = redis.call, redis.pcall
local orders_key = KEYS[1]
local sales = (#KEYS - 1) / 2

-- units_of returns the units of each of n requests; false if the text is invalid.
local function units_of(text, n)
  local units = {}
  for word in string.gmatch(text, '%S+') do
    units[#units + 1] = tonumber(word) or 0
    if units[#units] < 1 or units[#units] > MAX_QUANTITY then
      return false
    end
  end
  return #units == n and units
end

-- Check all arguments before changing the first sale.
local ats, sizes = {}, {} -- of each sale: where its arguments begin, and how many requests it has
local units = {}          -- of each sale, of each request; nil where each asks for one unit
local at = 1
while ARGV[at] do
  local n, sale = tonumber(ARGV[at + 4]) or 0, #ats + 1
  if n < 1 or n > MAX_REQUESTS or n ~= math.floor(n)
    or not (tonumber(ARGV[at + 1]) and tonumber(ARGV[at + 2]) and tonumber(ARGV[at + 3])) then
    break
  end
  if ARGV[at + 5] ~= '' then
    units[sale] = units_of(ARGV[at + 5], n)
    if not units[sale] then
      break
    end
  end
  ats[sale], sizes[sale] = at, n
  at = at + 7 + 2 * n
end
if at ~= #ARGV + 1 or #ats ~= sales or sales < 1 or sales > MAX_SALES then
  return redis.error_reply('ERR seckill.lua: bad arguments')
end

local now = clock()
local entries = call('XLEN', orders_key)

local answers = {}
for s = 1, sales do
  local sale_key, buyers_key = KEYS[2 * s], KEYS[2 * s + 1]
  local at, n, quantities = ats[s], sizes[s], units[s]
  local voucher = ARGV[at]
  local known_epoch, known_seq, max_backlog = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local first, traces = at + 7, ARGV[at + 6] -- where the pairs begin

  -- XLEN counts entries, not orders, and an entry may be packed. So orders are packed only while few entries wait, and
  -- that many entries are assumed to be full. This never exceeds the allowed backlog, and refuses nobody below 97 % of
  -- it. Count so even while nothing is packed, because older packed entries may still wait.
  local few = math.min(math.floor(max_backlog / PACK_SHARE), MOST_PACKED)
  local backlog = entries + (MAX_PACKED - 1) * math.min(entries, few)

  -- Read everything of the sale first: Redis does not undo the writes of a script that fails.
  local users = {}
  for i = 1, n do
    users[i] = ARGV[first + 2 * i - 2]
  end
  local sale = pcall('HMGET', sale_key, 'mode', 'epoch', 'seq', 'stock', 'returned', 'returned_at', 'begin', 'end',
    'reserved', 'resumes', 'server')
  local holders = pcall('HMGET', buyers_key, unpack(users)) -- order ids
  local buyers = holders.err and 0 or call('HLEN', buyers_key)

  local mode, epoch, seq, stock = sale[1], number(sale[2]), number(sale[3]), number(sale[4])
  local returned, returned_at = number(sale[5]) or 0, number(sale[6]) or 0
  local opens, closes = number(sale[7]), number(sale[8])
  local reserved = 0 -- returned units that apply.lua keeps for a revival
  if (number(sale[9]) or 0) > 0 then
    reserved = number(call('HGET', sale_key, 'reserved_units')) or 1
  end
  local resting = not past(number(sale[10]) or 0, now) -- a rebuilt sale that does not yet sell
  local readable = epoch and seq and stock and opens and closes and not holders.err
    and epoch <= known_epoch + MAX_LEAD and MODES[mode]

  local everyone -- one code for every request, holders' included; nil: none
  local refusal  -- the code for everybody who is no holder; nil: none
  if not readable then
    mode, epoch, seq, stock, returned, reserved = '', 0, 0, 0, 0, 0
    everyone = NO_SALE
  elseif epoch < known_epoch or (epoch == known_epoch and seq < known_seq) or other_server(sale[11]) then
    if mode ~= 'rebuild' then
      -- Redis refuses this if it is full or read-only; the caller requests the rebuild anyway.
      pcall('HSET', sale_key, 'mode', 'rebuild')
      mode = 'rebuild'
    end
    everyone = LOST_TAIL
  elseif mode == 'rebuild' then
    refusal = REBUILDING
  elseif mode == 'over' then
    refusal = CALLED_OFF
  elseif mode == 'off' then
    refusal = OFF_SHELF
  elseif mode == 'paused' then
    refusal = PAUSED
  elseif now < opens then
    refusal = NOT_STARTED
  elseif now >= closes then
    refusal = ENDED
  end

  if not everyone then
    stock, returned = ripen(stock, returned, returned_at, now)
  end

  local outcomes = {}
  local accepted, taken = 0, 0 -- orders, and their units
  local added = {}    -- user, order, user, order…: what HSET writes to buyers
  local order_of = {} -- user -> order that this call accepted
  for i = 1, n do
    local user, order, quantity = users[i], ARGV[first + 2 * i - 1], 1
    local asks = order == '0' -- only asks for the user's order
    if quantities and quantities[i] > 1 then
      quantity = quantities[i]
      order = order .. ':' .. string.format('%d', quantity)
    end
    local current = order_of[user] or holders[i]
    if everyone then
      outcomes[i] = everyone
    elseif current == order and not asks then
      outcomes[i] = ACCEPTED
    elseif current then
      outcomes[i] = current
    elseif asks then
      outcomes[i] = BARRED
    elseif refusal then
      outcomes[i] = refusal
    elseif stock - taken <= 0 then
      outcomes[i] = SOLD_OUT
    elseif resting then
      outcomes[i] = PAUSED
    elseif stock - taken < quantity then
      outcomes[i] = taken - stock
    elseif backlog + accepted >= max_backlog then
      outcomes[i] = BACKLOGGED
    else
      accepted, taken = accepted + 1, taken + quantity
      added[2 * accepted - 1], added[2 * accepted] = user, order
      order_of[user] = order
      outcomes[i] = ACCEPTED
    end
  end

  local failed -- Redis's error for a refused write: the answer for this sale
  local from = 1
  while from <= accepted do
    local to = entries < few and math.min(accepted, from + MAX_PACKED - 1) or from
    -- Not whole(): calling it would add 5 % to a batch in which each order has its own entry.
    local epoch, sequence = sale[2], string.format('%.0f', seq + from)
    local id
    if to > from or traces ~= '' then
      local packed = table.concat(added, ' ', 2 * from - 1, 2 * to)
      if traces == '' then
        id = pcall('XADD', orders_key, '*', 'v', voucher, 'e', epoch, 's', sequence, 'p', packed)
      else
        id = pcall('XADD', orders_key, '*', 'v', voucher, 'e', epoch, 's', sequence, 'p', packed, 't', traces)
      end
    else
      id = pcall('XADD', orders_key, '*', 'v', voucher, 'u', added[2 * from - 1], 'o', added[2 * from], 'e', epoch, 's', sequence)
    end
    failed = type(id) == 'table' and id
    if failed and string.find(failed.err or '', '^-?READONLY') then
      return failed -- not a master: only this error itself makes clients reconnect elsewhere
    end
    if failed then
      break
    end
    entries, from = entries + 1, to + 1
  end
  if accepted > 0 and not failed then
    call('HSET', buyers_key, unpack(added))
    stock, seq, buyers = stock - taken, seq + accepted, buyers + accepted
    call('HSET', sale_key, 'stock', whole(stock), 'seq', whole(seq), 'returned', whole(returned))
    if taken > accepted then
      pcall('HINCRBY', sale_key, 'extra', taken - accepted) -- fails if somebody wrote text there; a rebuild mends it
    end
  end

  local answer = {mode, epoch, seq, stock + returned + reserved, buyers, opens or 0, closes or 0, now}
  for i = 1, n do
    answer[8 + i] = outcomes[i]
  end
  answers[s] = failed and (failed.err or 'ERR unknown') or answer
end
return answers
