/* step_rows and vjp_rows as calls of XLA's foreign function interface. Before this stands c_api.h
   of the jaxlib that is installed. */

static int asks_version(XLA_FFI_CallFrame *frame) {
  XLA_FFI_Extension_Base *extension = frame->extension_start;
  if (!extension || extension->type != XLA_FFI_Extension_Metadata) return 0;
  XLA_FFI_Metadata *about = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
  about->api_version.major_version = XLA_FFI_API_MAJOR;
  about->api_version.minor_version = XLA_FFI_API_MINOR;
  return 1;
}

static void *given(const XLA_FFI_CallFrame *frame, int k) {
  return ((XLA_FFI_Buffer *)frame->args.args[k])->data;
}

static void *result(const XLA_FFI_CallFrame *frame, int k) {
  return ((XLA_FFI_Buffer *)frame->rets.rets[k])->data;
}

/* One for each time. */
static long rows_of(const XLA_FFI_CallFrame *frame) {
  const XLA_FFI_Buffer *times = frame->args.args[2];
  long lanes = 1;
  for (int64_t k = 0; k < times->rank; ++k) lanes *= times->dims[k];
  return lanes;
}

static const void *attribute(const XLA_FFI_CallFrame *frame, char initial) {
  for (int64_t k = 0; k < frame->attrs.size; ++k)
    if (frame->attrs.names[k]->ptr[0] == initial)
      return ((XLA_FFI_Scalar *)frame->attrs.attrs[k])->value;
  return 0;
}

XLA_FFI_Error *xla_step(XLA_FFI_CallFrame *f) {
  if (asks_version(f)) return 0;
  step_rows(rows_of(f), *(const int64_t *)attribute(f, 's'), *(const double *)attribute(f, 'h'),
            given(f, 0), given(f, 1), given(f, 2), given(f, 3), result(f, 0));
  return 0;
}

XLA_FFI_Error *xla_vjp(XLA_FFI_CallFrame *f) {
  if (asks_version(f)) return 0;
  if (vjp_rows(rows_of(f), *(const int64_t *)attribute(f, 's'), *(const double *)attribute(f, 'h'),
               given(f, 0), given(f, 1), given(f, 2), given(f, 3), given(f, 4),
               result(f, 0), result(f, 1), result(f, 2), result(f, 3))) {
    XLA_FFI_Error_Create_Args told = {sizeof told, 0, "no memory for the states of the steps",
                                      XLA_FFI_Error_Code_RESOURCE_EXHAUSTED};
    return f->api->XLA_FFI_Error_Create(&told);
  }
  return 0;
}
